import { createHash } from "node:crypto";
import { z } from "zod";

/** A comma-separated list; empty parts are ignored. */
export const commaList = z
  .string()
  .default("")
  .transform((text) => partsOf(text, ","));

function partsOf(text: string, separator: string | RegExp): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** A client's key and its owner: sessions belong to owners, so two keys of one owner see the same. */
export interface ApiKey {
  /** A name, or the first 12 hex digits of the SHA-256 of a key without one. Not secret. */
  owner: string;
  key: string;
}

/** The owner that also sees rows without one, from before keys were required. */
export const adminName = "admin";

/** Prefix of the owners of `auth.path` users: names of key owners contain no colon, so the two never clash. */
const userPrefix = "user:";

/** The owner name of an `auth.path` user. */
export function ownerOfUser(identity: string): string {
  return `${userPrefix}${identity}`;
}

/** Whether an owner is a user of `auth.path`. */
export function isUser(owner: string | null): owner is string {
  return owner?.startsWith(userPrefix) ?? false;
}

/** An owner's public name: that of its key, or the user's identity in the rules of `auth.path`. */
export function nameOfOwner(owner: string): string {
  return isUser(owner) ? owner.slice(userPrefix.length) : owner;
}

/** The owner of stored items. Without an owner (`null`) it is the admin, as for all users. */
export function ownerOfItems(owner: string | null): string {
  return owner === null || isUser(owner) ? adminName : owner;
}

/** The owner's name before the colon of an entry. */
const ownerName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Parses one entry of `MILLRACE_API_KEYS`; an error message never contains the entry. */
function toApiKey(entry: string): ApiKey | { problem: string } {
  const colon = entry.indexOf(":");
  if (colon === -1) return { owner: createHash("sha256").update(entry).digest("hex").slice(0, 12), key: entry };
  const [owner, key] = [entry.slice(0, colon).trim(), entry.slice(colon + 1).trim()];
  if (ownerName.test(owner) && key !== "") return { owner, key };
  const expected = "expected name:key with a name of up to 64 letters, digits, dots, dashes and underscores";
  return { problem: `${expected}; a key that holds a colon needs a name before it` };
}

const text = z.string().default("");

/** The API keys of a list; an error names the position, never the key. */
export const apiKeys = text.transform((list, context) => {
  // In a file, one per line is allowed.
  const entries = partsOf(list, /[,\n]/u);
  const keys: ApiKey[] = [];
  for (const [index, entry] of entries.entries()) {
    const parsed = toApiKey(entry);
    const other = "key" in parsed ? keys.find(({ key }) => key === parsed.key) : undefined;
    if ("problem" in parsed) context.addIssue({ code: "custom", message: `entry ${index + 1}: ${parsed.problem}` });
    else if (other !== undefined && other.owner !== parsed.owner) {
      context.addIssue({ code: "custom", message: `entry ${index + 1}: the same key has two owners` });
    } else keys.push(parsed);
  }
  return keys;
});

/** Whether a variable is a secret, judging by its name. */
export function isSecret(name: string): boolean {
  return /_(?:KEYS?|SECRET)$/u.test(name);
}

/** Patterns of secrets in any text. */
export const secretForms = [
  { pattern: /\b(?:sk|pk|lsv2|ghp|xox[abp])[-_][A-Za-z0-9_-]{12,}/gu, replace: "[redacted]" },
  { pattern: /\bBearer\s+[A-Za-z0-9._~+/-]{8,}=*/giu, replace: "Bearer [redacted]" },
  { pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/gu, replace: "[redacted]" },
];
