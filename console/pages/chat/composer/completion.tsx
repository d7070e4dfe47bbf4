import FileText from "icon:file-text";
import Folder from "icon:folder";
import { useId, useState, type KeyboardEvent, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useFolder } from "../../../api/files.ts";
import { useAllCommands, type Command } from "../../../app/commands.ts";
import { isComposing } from "../../../app/keys.ts";
import { visible } from "../../../markdown/links.ts";

/** Offers that are shown at once. */
const maxShown = 8;
/** A slash and words alone; a path has a second slash. */
const askedCommand = /^\/(?<words>[^\n/]*)$/u;
/** An at sign and a path at the end. */
const askedFile = /(?:^|\s)@(?<path>[^\s@]*)$/u;

/** What the field needs to offer how its text goes on. */
interface Completion {
  /** The offers, above the field. */
  list: ReactNode;
  /** Takes up a key; true: it was one of the list's. */
  onKeyDown: (event: KeyboardEvent) => boolean;
  /** Of the field. */
  attributes: { "aria-autocomplete"?: "list"; "aria-controls"?: string; "aria-activedescendant"?: string };
}

interface Offer {
  id: string;
  icon: ReactNode;
  label: string;
  code: string;
  choose: () => void;
}

/** What a text is and how it changes; `attach` takes a file along. */
interface Field {
  text: string;
  setText: (text: string) => void;
  attach: (path: string) => void;
}

/** The commands of this place behind a slash, files of the workspace behind an at sign: chosen by arrows, Enter or a click. */
export function useCompletion(field: Field): Completion {
  const { t } = useTranslation();
  const id = useId();
  const { text } = field;
  const [dismissed, setDismissed] = useState("");
  const [at, setAt] = useState({ text: "", index: 0 });
  const offers = [...useCommandOffers(field), ...useFileOffers(field)];
  const found = text === dismissed ? [] : offers;
  const index = at.text === text ? Math.min(at.index, found.length - 1) : 0;
  const move = (by: number) => setAt({ text, index: (index + by + found.length) % found.length });
  const onKeyDown = (event: KeyboardEvent): boolean => {
    if (found.length === 0 || isComposing(event.nativeEvent) || event.shiftKey) return false;
    const actions: Record<string, () => void> = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      Enter: () => found[index]?.choose(),
      Tab: () => found[index]?.choose(),
      Escape: () => setDismissed(text),
    };
    const act = actions[event.key];
    if (act === undefined) return false;
    event.preventDefault();
    event.stopPropagation();
    act();
    return true;
  };
  if (found.length === 0) return { list: null, onKeyDown, attributes: {} };
  const list = (
    <div
      className="menu slash"
      role="listbox"
      id={id}
      aria-label={t(text.startsWith("/") ? "keys.palette" : "chat.attach")}
    >
      {found.map((offer, place) => (
        <div
          key={offer.id}
          id={`${id}-${place}`}
          role="option"
          tabIndex={-1}
          aria-selected={place === index}
          className="menu-item"
          data-active-item={place === index || undefined}
          // The field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={offer.choose}
          onKeyDown={onKeyDown}
        >
          <span className="menu-icon">{offer.icon}</span>
          <span className="menu-label">{offer.label}</span>
          <code>{offer.code}</code>
        </div>
      ))}
    </div>
  );
  const attributes = {
    "aria-autocomplete": "list",
    "aria-controls": id,
    "aria-activedescendant": `${id}-${index}`,
  } as const;
  return { list, onKeyDown, attributes };
}

/** Commands by their short English name or by words of their label; those of this place first. */
function useCommandOffers({ text, setText }: Field): Offer[] {
  const commands = useAllCommands();
  const words = askedCommand.exec(text)?.groups?.["words"]?.trim().toLowerCase();
  if (words === undefined) return [];
  const fits = ({ id, label }: Command) => id.startsWith(words) || label.toLowerCase().includes(words);
  const here = commands.filter(({ group }) => group === "here");
  const elsewhere = commands.filter(({ group }) => group !== "here");
  const found = [...here, ...elsewhere].filter(fits).slice(0, maxShown);
  return found.map(({ id, label, icon, run }) => {
    const choose = () => {
      setText("");
      run();
    };
    return { id, label, icon, code: `/${id}`, choose };
  });
}

/** What of a folder begins as the path ends: a folder is opened, a file taken along. */
function useFileOffers({ text, setText, attach }: Field): Offer[] {
  const path = askedFile.exec(text)?.groups?.["path"];
  const folder = path?.slice(0, path.lastIndexOf("/") + 1) ?? "";
  const { data } = useFolder(folder.slice(0, -1), path !== undefined);
  if (path === undefined) return [];
  const begins = path.slice(folder.length).toLowerCase();
  const before = text.slice(0, -path.length - 1);
  const found = data?.entries.filter(
    ({ name, kind }) => (kind === "file" || kind === "folder") && name.toLowerCase().startsWith(begins),
  );
  return (found ?? []).slice(0, maxShown).map((entry) => {
    const isFolder = entry.kind === "folder";
    const choose = () => {
      setText(isFolder ? `${before}@${entry.path}/` : before);
      if (!isFolder) attach(entry.path);
    };
    const icon = isFolder ? <Folder size={16} /> : <FileText size={16} />;
    return { id: entry.path, label: visible(entry.name), icon, code: visible(entry.path), choose };
  });
}
