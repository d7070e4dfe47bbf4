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

/** How the calls of a model went. `requests` are those that were answered; times are milliseconds, summed up. */
export const ModelUsage = Usage.extend({
  failed: z.number().int(),
  duration_ms: z.number(),
  first_token_ms: z.number(),
  first_tokens: z.number().int().describe("Calls of which it is known when their first words came"),
});
export type ModelUsage = z.infer<typeof ModelUsage>;

/** Of which day, an ISO date in UTC, and of which model: `provider:model`. */
interface ModelDay {
  day: string;
  model: string;
}

/** How an owner's model calls went, to be added to the sums of a day. Without a key the owner is empty. */
export interface UsageEntry extends ModelUsage, ModelDay {
  owner: string;
}

/** Whether something was used: a call that failed is in the sums of its model alone. */
export function isAnswered({ requests }: Usage): boolean {
  return requests > 0;
}

type OwnerDay = Usage & Pick<UsageEntry, "owner" | "day">;

/** Days of a calendar, both counted. */
export interface Days {
  from: string;
  to: string;
}

/** What the model calls of owners have used, over all their sessions. It stays when sessions go. */
export interface UsageStore {
  /** Each day on which the owner has used something, oldest first. */
  days(owner: string, days: Days): Promise<Omit<OwnerDay, "owner">[]>;
  /** The sums of these days by owner, most tokens first; `total` counts the owners. */
  owners(days: Days, page: Page): Promise<{ owners: Omit<OwnerDay, "day">[]; total: number }>;
  /** The sums of each day and model, of an owner or of all; oldest day first, within it by name. */
  models(days: Days, owner?: string): Promise<(ModelUsage & ModelDay)[]>;
}
