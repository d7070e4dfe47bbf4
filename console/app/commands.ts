import { useEffect, useSyncExternalStore, type ReactNode } from "react";

/** Something that can be done here: by a menu, the palette or a key. */
export interface Command {
  id: string;
  label: string;
  group: "here" | "places" | "settings";
  icon?: ReactNode;
  /** A key, or two one after the other (`g i`); `mod` is Ctrl or Cmd. */
  keys?: string;
  /** Of one that decides something: whether its key is meant for it now. Then it goes before others of that key, and a held key is none. */
  isMeant?: () => boolean;
  run: () => void;
}

const registered = new Map<symbol, readonly Command[]>();
const listeners = new Set<() => void>();
let all: readonly Command[] = [];
let listed: readonly Command[] = [];

function collect(): void {
  all = [...registered.values()].flat();
  listed = all.filter(({ isMeant }) => isMeant === undefined);
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

/** The commands that there are now, for a component that lists them: without those that decide, which stand beside what they decide. */
export function useAllCommands(): readonly Command[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => listed,
  );
}
