import { useSyncExternalStore } from "react";
import * as z from "zod/mini";

const place = "millrace.put-off";
/** Questions that are remembered: those that were answered long ago are forgotten. */
const most = 500;
const listeners = new Set<() => void>();
let current: ReadonlySet<string> = read();

function read(): ReadonlySet<string> {
  try {
    return new Set(z.parse(z.array(z.string()), JSON.parse(localStorage.getItem(place) ?? "[]")));
  } catch {
    return new Set();
  }
}

function change(next: ReadonlySet<string>): void {
  current = next;
  for (const listener of listeners) listener();
}

function keep(next: ReadonlySet<string>): void {
  const kept = [...next].slice(-most);
  try {
    localStorage.setItem(place, JSON.stringify(kept));
  } catch {
    // Without storage it counts until the page is left.
  }
  change(new Set(kept));
}

// Another tab has put one off, or brought it back.
addEventListener("storage", ({ key }) => {
  if (key === place) change(read());
});

/** Puts a question off, on this device: it stands apart from the others until it is answered or brought back. */
export function putOff(id: string): void {
  keep(new Set([...current, id]));
}

/** Puts questions that were put off with the others again. */
export function bringBack(ids: readonly string[]): void {
  keep(new Set([...current].filter((id) => !ids.includes(id))));
}

/** The questions that were put off. */
export function usePutOff(): ReadonlySet<string> {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
