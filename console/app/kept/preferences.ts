import { useSyncExternalStore } from "react";
import * as z from "zod/mini";
import { keepText, onTexts, readText, valueOf } from "./texts.ts";

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

const place = "preferences";
let current = read();

function read(): Preferences {
  return valueOf(readText(place), Preferences) ?? z.parse(Preferences, {});
}

/** What is chosen now. */
export function preferences(): Preferences {
  return current;
}

/** Changes what is named, and keeps it. */
export function setPreferences(changes: Partial<Preferences>): void {
  current = { ...current, ...changes };
  if (current.theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = current.theme;
  keepText(place, JSON.stringify(current));
}

// Another tab has changed them.
addEventListener("storage", (event) => {
  if (event.key === `millrace.${place}`) {
    current = read();
    setPreferences({});
  }
});

/** What is chosen, for a component. */
export function usePreferences(): Preferences {
  return useSyncExternalStore(onTexts, () => current);
}
