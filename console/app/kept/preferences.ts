import { useSyncExternalStore } from "react";
import * as z from "zod/mini";

/** What a person chose on this device. */
const Preferences = z.object({
  theme: z._default(z.enum(["light", "dark", "system"]), "system"),
  language: z.optional(z.enum(["en", "zh"])),
  singleKeys: z._default(z.boolean(), true),
  enterSends: z._default(z.boolean(), true),
  listShown: z._default(z.boolean(), true),
  retrieval: z._default(z.boolean(), true),
  oneToolAtATime: z._default(z.boolean(), false),
  assistant: z._default(z.string(), "agent"),
});
export type Preferences = z.infer<typeof Preferences>;

const place = "millrace.preferences";
const listeners = new Set<() => void>();
let current = read();

function read(): Preferences {
  try {
    return z.parse(Preferences, JSON.parse(localStorage.getItem(place) ?? "{}"));
  } catch {
    return z.parse(Preferences, {});
  }
}

/** What is chosen now. */
export function preferences(): Preferences {
  return current;
}

/** Changes what is named, and keeps it. */
export function setPreferences(changes: Partial<Preferences>): void {
  current = { ...current, ...changes };
  try {
    localStorage.setItem(place, JSON.stringify(current));
  } catch {
    // Without storage it counts until the page is left.
  }
  if (current.theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = current.theme;
  for (const listener of listeners) listener();
}

// Another tab has changed them.
addEventListener("storage", (event) => {
  if (event.key === place) {
    current = read();
    setPreferences({});
  }
});

/** What is chosen, for a component. */
export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}
