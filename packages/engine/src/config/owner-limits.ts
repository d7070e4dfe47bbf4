import { distance } from "fastest-levenshtein";
import { type ApiKey, commaList, nameOfOwner } from "./api-keys.ts";

/** Limits on an owner's model calls per calendar day or month (UTC), over all sessions. */
export const limitNames = ["tokens_per_day", "tokens_per_month", "cost_per_day", "cost_per_month"] as const;
/** The name of a limit. */
export type LimitName = (typeof limitNames)[number];

/** The limits of one owner; missing ones do not apply. */
export type UsageLimits = Readonly<Partial<Record<LimitName, number>>>;

/** The limits by owner; `*` applies to owners without an entry. */
export type OwnerLimits = Readonly<Record<string, UsageLimits>>;

const everyone = "*";
/** User names come from the rules of `auth.path` and may contain colons: the last colon counts. */
const entryForm = /^(?<owner>\*|[A-Za-z0-9][^\s,]{0,199})\s*:(?<limits>[^:]*)$/u;
const limitForm = /^(?<name>[a-z_]+)=(?<limit>\d+(?:\.\d+)?)$/u;
const expected = `expected owner:limit=number, such as guest:tokens_per_day=100000 or *:cost_per_month=5, with the limits ${limitNames.join(", ")}`;

/** A list of `owner:limit=number limit=number` in the environment; an error names the position of the entry. */
export const ownerLimits = commaList.transform((entries, context): OwnerLimits => {
  const known = new Map<string, UsageLimits>();
  for (const [index, entry] of entries.entries()) {
    const { owner = "", limits = "" } = entryForm.exec(entry)?.groups ?? {};
    const own = owner === "" ? undefined : readLimits(limits);
    const problem = own === undefined ? expected : known.has(owner) ? `${owner} has an entry already` : undefined;
    if (problem !== undefined) context.addIssue({ code: "custom", message: `entry ${index + 1}: ${problem}` });
    else known.set(owner, own ?? {});
  }
  return Object.fromEntries(known);
});

/** `undefined` for invalid or duplicate limits. */
function readLimits(text: string): UsageLimits | undefined {
  const limits = new Map<LimitName, number>();
  for (const part of text.split(/\s+/u).filter(Boolean)) {
    const { name: given, limit } = limitForm.exec(part)?.groups ?? {};
    const name = limitNames.find((one) => one === given);
    if (name === undefined || limits.has(name)) return undefined;
    limits.set(name, Number(limit));
  }
  return limits.size === 0 ? undefined : Object.fromEntries(limits);
}

/** The limits of an owner; unauthenticated callers count as the empty one. */
export function limitsOf(limits: OwnerLimits, owner: string): UsageLimits {
  const name = nameOfOwner(owner);
  return (Object.hasOwn(limits, name) && name !== "" ? limits[name] : limits[everyone]) ?? {};
}

/** An entry of `MILLRACE_OWNER_LIMITS` or `MILLRACE_OWNER_TOOLS` that probably matches no owner. */
export interface UnknownOwner {
  variable: string;
  owner: string;
  /** How to correct it. */
  remedy: string;
}

/** Maximum edit distance of a typing mistake. */
const maxDifferent = 2;

/**
 * Entries that match no key's owner. `hasRules`: with rules of `auth.path` a name may be a user's, so only near misses
 * are reported.
 */
export function unknownOwners(
  entries: { ownerLimits: OwnerLimits; ownerTools: Readonly<Record<string, unknown>> },
  keys: readonly Pick<ApiKey, "owner">[],
  hasRules: boolean,
): UnknownOwner[] {
  const known = [...new Set(keys.map(({ owner }) => owner))];
  const unknownIn = (variable: string, owners: readonly string[]): UnknownOwner[] =>
    owners
      .filter((owner) => owner !== everyone && !known.includes(owner))
      .flatMap((owner) => {
        const nearest = nearestOf(owner, known);
        if (nearest !== undefined) return [{ variable, owner, remedy: `did you mean ${nearest}?` }];
        if (hasRules) return [];
        const remedy =
          known.length === 0
            ? "no key has an owner: write MILLRACE_API_KEYS as owner:key"
            : `the owners of MILLRACE_API_KEYS are ${known.join(", ")}`;
        return [{ variable, owner, remedy }];
      });
  return [
    ...unknownIn("MILLRACE_OWNER_LIMITS", Object.keys(entries.ownerLimits)),
    ...unknownIn("MILLRACE_OWNER_TOOLS", Object.keys(entries.ownerTools)),
  ];
}

function nearestOf(owner: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((one) => ({ one, letters: distance(owner.toLowerCase(), one.toLowerCase()) }))
    .toSorted((left, right) => left.letters - right.letters);
  // Short names allow fewer errors.
  return nearest !== undefined && nearest.letters <= Math.min(maxDifferent, owner.length / 2) ? nearest.one : undefined;
}
