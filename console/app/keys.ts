import { useEffect } from "react";
import { currentCommands, type Command } from "./commands.ts";
import { preferences } from "./kept/preferences.ts";

/** Milliseconds between the two keys of one shortcut. */
const pause = 1_200;

/** Whether a key goes into a text that is being written. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
}

/** Whether a key belongs to the input method that composes a word, as for Chinese. */
export function isComposing(event: { isComposing?: boolean; keyCode?: number }): boolean {
  return event.isComposing === true || event.keyCode === 229;
}

/** Runs commands by their keys, as long as the component is shown. */
export function useKeys(): void {
  useEffect(() => {
    let first = "";
    let at = 0;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isComposing(event)) return;
      const hasModifier = event.ctrlKey || event.metaKey;
      const isSingle = !hasModifier && !event.altKey;
      if (isSingle && (isTyping(event.target) || !preferences().singleKeys)) return;
      const name = hasModifier
        ? `mod+${event.key.toLowerCase()}`
        : event.key.length === 1
          ? event.key
          : event.key.toLowerCase();
      const isSecond = first !== "" && event.timeStamp - at < pause;
      const wanted = isSecond ? `${first} ${name}` : name;
      const command = commandOf(wanted, event);
      first = !isSecond && name === "g" ? name : "";
      at = event.timeStamp;
      if (command === undefined) return;
      event.preventDefault();
      command.run();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}

/** The command of a key: one that decides, else the one that was registered last. */
function commandOf(wanted: string, { repeat }: KeyboardEvent): Command | undefined {
  const found = currentCommands().filter(({ keys }) => keys === wanted);
  const deciding = found.find(({ isMeant }) => isMeant?.());
  if (deciding !== undefined) return repeat ? undefined : deciding;
  return found.findLast(({ isMeant }) => isMeant === undefined);
}

const isApple = /Mac|iPhone|iPad/u.test(navigator.userAgent);

/** A shortcut as it is shown. */
export function shownKeys(keys: string): string {
  return keys
    .replace("mod+", isApple ? "⌘" : "Ctrl ")
    .replace(/\b[a-z]$/u, (key) => (keys.includes("mod+") ? key.toUpperCase() : key));
}
