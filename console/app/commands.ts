import { useEffect, useSyncExternalStore, type ReactNode } from "react";

/** Something that can be done here: by a menu, the palette or a key. */
export interface Command {
  id: string;
  label: string;
  group: "here" | "places" | "settings";
  icon?: ReactNode;
  /** A key, or two one after the other (`g i`); `mod` is Ctrl or Cmd. */
  keys?: string;
  run: () => void;
}

const registered = new Map<symbol, readonly Command[]>();
const listeners = new Set<() => void>();
let all: readonly Command[] = [];

function collect(): void {
  all = [...registered.values()].flat();
  for (const listener of listeners) listener();
}

/** Commands that exist while the component is shown. The caller keeps the list the same where nothing has changed. */
export function useCommands(commands: readonly Command[]): void {
  useEffect(() => {
    const place = Symbol("commands");
    registered.set(place, commands);
    collect();
    return () => {
      registered.delete(place);
      collect();
    };
  }, [commands]);
}

/** All commands that there are now. */
export function currentCommands(): readonly Command[] {
  return all;
}

/** All commands that there are now, for a component. */
export function useAllCommands(): readonly Command[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => all,
  );
}
