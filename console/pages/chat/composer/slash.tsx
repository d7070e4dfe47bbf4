import { useId, useState, type KeyboardEvent, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useAllCommands, type Command } from "../../../app/commands.ts";
import { isComposing } from "../../../app/keys.ts";

/** Commands that are shown at once. */
const maxShown = 8;
/** A slash and words alone; a path has a second slash. */
const asked = /^\/(?<words>[^\n/]*)$/u;

/** What the field needs to have commands. */
interface Slash {
  /** The commands that fit, above the field. */
  list: ReactNode;
  /** Takes up a key; true: it was one of the list's. */
  onKeyDown: (event: KeyboardEvent) => boolean;
  /** Of the field. */
  attributes: { "aria-autocomplete"?: "list"; "aria-controls"?: string; "aria-activedescendant"?: string };
}

/** The commands of this place for a text that begins with a slash: chosen by arrows, Enter or a click. */
export function useSlash(text: string, setText: (text: string) => void): Slash {
  const { t } = useTranslation();
  const id = useId();
  const commands = useAllCommands();
  const [dismissed, setDismissed] = useState("");
  const [at, setAt] = useState({ text: "", index: 0 });
  const words = asked.exec(text)?.groups?.["words"]?.trim().toLowerCase();
  const found = words === undefined || text === dismissed ? [] : fitting(commands, words);
  const index = at.text === text ? Math.min(at.index, found.length - 1) : 0;
  const choose = (command: Command | undefined) => {
    if (command === undefined) return;
    setText("");
    command.run();
  };
  const move = (by: number) => setAt({ text, index: (index + by + found.length) % found.length });
  const onKeyDown = (event: KeyboardEvent): boolean => {
    if (found.length === 0 || isComposing(event.nativeEvent) || event.shiftKey) return false;
    const actions: Record<string, () => void> = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      Enter: () => choose(found[index]),
      Tab: () => choose(found[index]),
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
    <div className="menu slash" role="listbox" id={id} aria-label={t("keys.palette")}>
      {found.map((command, place) => (
        <div
          key={command.id}
          id={`${id}-${place}`}
          role="option"
          tabIndex={-1}
          aria-selected={place === index}
          className="menu-item"
          data-active-item={place === index || undefined}
          // The field keeps the focus.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => choose(command)}
          onKeyDown={onKeyDown}
        >
          <span className="menu-icon">{command.icon}</span>
          <span className="menu-label">{command.label}</span>
          <code>/{command.id}</code>
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
function fitting(commands: readonly Command[], words: string): readonly Command[] {
  const fits = ({ id, label }: Command) => id.startsWith(words) || label.toLowerCase().includes(words);
  const here = commands.filter(({ group }) => group === "here");
  const elsewhere = commands.filter(({ group }) => group !== "here");
  return [...here, ...elsewhere].filter(fits).slice(0, maxShown);
}
