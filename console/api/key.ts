/** The key of this person: in memory and for this tab; on this device only where the person asked for it. */

const name = "millrace.key";
let key = read();
const listeners = new Set<() => void>();

function read(): string | undefined {
  try {
    return sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The key that requests are sent with. */
export function currentKey(): string | undefined {
  return key;
}

/** Keeps the key for this tab and, with `remember`, on this device. */
export function keepKey(value: string, remember: boolean): void {
  key = value;
  try {
    sessionStorage.setItem(name, value);
    if (remember) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch {
    // Without storage it lives as long as the page.
  }
  for (const listener of listeners) listener();
}

/** Forgets the key everywhere. */
export function forgetKey(): void {
  key = undefined;
  try {
    sessionStorage.removeItem(name);
    localStorage.removeItem(name);
  } catch {
    // There is nothing to remove.
  }
  for (const listener of listeners) listener();
}

/** Calls `listener` when the key has changed; the result ends that. */
export function onKey(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
