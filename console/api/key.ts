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

/** What stands before a key that goes as a bearer token. */
const bearer = "Bearer ";

/** The forms in which a server may want a key: in a header of its own, or as a bearer token, as rules of `auth.path` often do. */
export function formsOf(typed: string): string[] {
  return typed.startsWith(bearer) ? [typed] : [typed, bearer + typed];
}

/** The header of a key. */
export function headerOf(value: string | undefined): Record<string, string> {
  if (value === undefined) return {};
  return value.startsWith(bearer) ? { Authorization: value } : { "x-api-key": value };
}

/** The subprotocols of a socket that stand for the header, which a page cannot set. */
export function protocolsOf(value: string | undefined): string[] {
  if (value === undefined) return [];
  const isBearer = value.startsWith(bearer);
  return ["millrace", isBearer ? `bearer.${base64url(value.slice(bearer.length))}` : `key.${base64url(value)}`];
}

function base64url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCodePoint(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
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
