import { z } from "zod";
import type { Page } from "./records.ts";

/** What model calls have used. Cached tokens are part of the input; `cost` is 0 where no price was known. */
export const Usage = z.object({
  requests: z.number().int(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_tokens: z.number(),
  cost: z.number(),
});
export type Usage = z.infer<typeof Usage>;

/** What an owner's model calls have used, to be added to the sums of a day: an ISO date in UTC. Nobody is an empty owner. */
export interface UsageEntry extends Usage {
  owner: string;
  day: string;
}

/** Days of a calendar, both counted. */
export interface Days {
  from: string;
  to: string;
}

/** What the model calls of owners have used, over all their sessions. It stays when sessions go. */
export interface UsageStore {
  /** Each day on which the owner has used something, oldest first. */
  days(owner: string, days: Days): Promise<Omit<UsageEntry, "owner">[]>;
  /** The sums of these days by owner, most tokens first; `total` counts the owners. */
  owners(days: Days, page: Page): Promise<{ owners: Omit<UsageEntry, "day">[]; total: number }>;
}
