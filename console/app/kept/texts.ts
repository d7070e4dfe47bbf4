import * as z from "zod/mini";

/** Texts that survive a reload and stay on this device. */

const prefix = "millrace.";
/** What the storage did not take; it lives as long as the page. */
const unkept = new Map<string, string>();
const listeners = new Set<() => void>();

/** The text of a place; empty where there is none. */
export function readText(place: string): string {
  try {
    return unkept.get(place) ?? localStorage.getItem(prefix + place) ?? "";
  } catch {
    return "";
  }
}

/** The value of a text that is JSON; `undefined` for a text that is none, or has another shape. */
export function valueOf<Schema extends z.core.$ZodType>(text: string, schema: Schema): z.output<Schema> | undefined {
  try {
    return z.safeParse(schema, JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Keeps a text; an empty one is forgotten. */
export function keepText(place: string, text: string): void {
  unkept.delete(place);
  try {
    if (text === "") localStorage.removeItem(prefix + place);
    else localStorage.setItem(prefix + place, text);
  } catch {
    unkept.set(place, text);
  }
  for (const listener of listeners) listener();
}

/** Calls back when a text may have changed, in another tab too; the result ends it. */
export function onTexts(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
}
