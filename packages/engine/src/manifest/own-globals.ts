/** Globals that other code than ours replaces now and then; our routes are made of the first three. */
const ofRoutes = ["Request", "Response", "Headers"] as const;
const ofEverybody = ["fetch", "URL", "AbortController", "setTimeout", "structuredClone", "queueMicrotask"] as const;

/** Which globals the modules of a user have changed. */
export interface ChangedGlobals {
  /** Left as the modules have made them: whoever replaces `fetch` mostly watches it. */
  changed: string[];
  /** Put back: our routes answer with them. */
  restored: string[];
}

/** Remembers globals before modules of users are loaded; the answer tells what they have changed since, `undefined`: nothing. */
export function keepGlobals(): () => ChangedGlobals | undefined {
  const kept = new Map([...ofRoutes, ...ofEverybody].map((name) => [name, globalThis[name]]));
  return () => {
    const isOther = (name: (typeof ofRoutes)[number] | (typeof ofEverybody)[number]): boolean =>
      globalThis[name] !== kept.get(name);
    const restored = ofRoutes.filter(isOther);
    for (const name of restored) {
      Object.defineProperty(globalThis, name, { value: kept.get(name), writable: true, configurable: true });
    }
    const changed = ofEverybody.filter(isOther);
    return restored.length + changed.length === 0 ? undefined : { changed, restored: restored.toSorted() };
  };
}
