import { AppError } from "../errors/errors.ts";
import type { Page } from "../storage/records.ts";
import type { Days, UsageStore } from "../storage/usage.ts";
import { readOwnUsage, sumOf, type OwnUsage } from "./owner-usage.ts";

/** What a caller sees of the usage of owners: its own, and where it administers the server that of all. */
export interface CallerUsage {
  /** Of the caller, or of another owner. Throws `permission` for one whose usage the caller may not see. */
  now(owner: string | undefined, time: number): Promise<OwnUsage & { owner: string }>;
  /** As `UsageStore.owners`, with the owners that the caller may see. */
  owners(days: Days, page: Page): ReturnType<UsageStore["owners"]>;
}

/** The usage as one caller sees it, who is `own`; nobody's is that of an empty owner. */
export function usageOfCaller(store: UsageStore, own: string, mayAdminister: boolean): CallerUsage {
  return {
    async now(owner = own, time) {
      if (owner !== own && !mayAdminister) {
        throw new AppError("permission", "The usage of another owner is for a key of the owner admin.");
      }
      return { owner, ...(await readOwnUsage(store, owner, time)) };
    },
    async owners(days, { limit, offset }) {
      if (mayAdminister) return await store.owners(days, { limit, offset });
      const used = await store.days(own, days);
      const owners = used.length === 0 ? [] : [{ owner: own, ...sumOf(used) }];
      return { owners: owners.slice(offset, offset + limit), total: owners.length };
    },
  };
}
