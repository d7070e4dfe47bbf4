import { Combobox, ComboboxItem, ComboboxList, ComboboxProvider } from "@ariakit/react/combobox";
import { Dialog } from "@ariakit/react/dialog";
import MessageSquare from "icon:message-square";
import { useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useThreads } from "../api/threads.ts";
import { foundAddress } from "./addresses.ts";
import { useAllCommands } from "./commands.ts";
import { isComposing, shownKeys } from "./keys.ts";
import { useSettled } from "./settled.ts";

interface Entry {
  id: string;
  label: string;
  icon: ReactNode;
  keys?: string | undefined;
  hint?: string | undefined;
  run: () => void;
}

/** Commands of this place, threads by their words, places and settings: one field for all of them. */
export function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [words, setWords] = useState("");
  const query = useSettled(words.trim());
  const commands = useAllCommands();
  const threads = useThreads(query === "" ? {} : { query });
  // At once: Enter must not take what stood there before the last letter.
  const matches = (label: string) => label.toLowerCase().includes(words.trim().toLowerCase());
  const isAnswered = query === words.trim() && !threads.isPlaceholderData;
  const found = (threads.data?.pages.flatMap((page) => page.threads) ?? [])
    // Until the server has answered, only those of the answer before that surely still fit.
    .filter(({ name }) => isAnswered || matches(name))
    .slice(0, query === "" ? 5 : 20);
  const groups = (["here", "places", "settings"] as const).map((group) => ({
    name: t(`palette.${group}`),
    entries: commands
      .filter((command) => command.group === group && matches(command.label))
      .map((command): Entry => ({ ...command, icon: command.icon })),
  }));
  const chats = {
    name: t("palette.chats"),
    entries: found.map((thread): Entry => ({
      id: thread.thread_id,
      label: thread.name,
      icon: <MessageSquare size={16} />,
      hint:
        thread.hits?.[0] && `${thread.hits[0].before ?? ""}${thread.hits[0].match ?? ""}${thread.hits[0].after ?? ""}`,
      run: () => navigate(foundAddress(thread)),
    })),
  };
  const shown = [groups[0], chats, groups[1], groups[2]].filter(
    (group) => group !== undefined && group.entries.length > 0,
  );
  /** Ariakit passes Enter on to the entry that it has marked itself, and to none while its list changes; every press counts. */
  const choose = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || isComposing(event.nativeEvent)) return;
    const options = [...(list.current?.querySelectorAll<HTMLElement>("[role=option]") ?? [])];
    const marked = options.find((option) => option.hasAttribute("data-active-item")) ?? options[0];
    event.preventDefault();
    marked?.click();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      className="palette"
      backdrop={<div className="backdrop" />}
      aria-label={t("palette.title")}
      initialFocus={field}
      unmountOnHide
    >
      <ComboboxProvider includesBaseElement={false} setValue={setWords} defaultOpen open>
        <Combobox
          autoSelect="always"
          className="palette-field"
          placeholder={t("palette.placeholder")}
          ref={field}
          onKeyDownCapture={choose}
        />
        <ComboboxList className="palette-list" alwaysVisible ref={list}>
          {shown.length === 0 && <p className="palette-nothing">{t("palette.nothing")}</p>}
          {shown.map((group) => (
            <div key={group?.name} className="palette-group">
              <p className="palette-name">{group?.name}</p>
              {group?.entries.map(({ id, label, icon, keys, hint, run }) => (
                <ComboboxItem
                  key={id}
                  className="palette-item"
                  focusOnHover
                  hideOnClick={false}
                  setValueOnClick={false}
                  onClick={() => {
                    onClose();
                    run();
                  }}
                >
                  <span className="menu-icon">{icon}</span>
                  <span className="menu-label">
                    {label}
                    {hint !== undefined && <small>{hint}</small>}
                  </span>
                  {keys !== undefined && <kbd>{shownKeys(keys)}</kbd>}
                </ComboboxItem>
              ))}
            </div>
          ))}
        </ComboboxList>
      </ComboboxProvider>
    </Dialog>
  );
}
