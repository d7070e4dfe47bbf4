import { AppError } from "../errors/errors.ts";
import type { Page } from "../storage/records.ts";
import type { Days, UsageStore } from "../storage/usage.ts";
import { readOwnUsage, sumOf, type OwnUsage } from "./owner-usage.ts";

/** The usage a caller may see: its own, and as administrator everyone's. */
export interface CallerUsage {
  /** Of the caller, or of another owner. Throws `permission` if the caller may not see it. */
  now(owner: string | undefined, time: number): Promise<OwnUsage & { owner: string }>;
  /** As `UsageStore.owners`, restricted to owners the caller may see. */
  owners(days: Days, page: Page): ReturnType<UsageStore["owners"]>;
  /** As `UsageStore.models`: of one owner, or of all that the caller may see. Throws `permission` as `now` does. */
  models(days: Days, owner: string | undefined): ReturnType<UsageStore["models"]>;
}

/** The usage as the caller `own` sees it; unauthenticated callers have an empty owner. */
export function usageOfCaller(store: UsageStore, own: string, mayAdminister: boolean): CallerUsage {
  const requireSeen = (owner: string): void => {
    if (owner === own || mayAdminister) return;
    throw new AppError("permission", "The usage of another owner is for a key of the owner admin.");
  };
  return {
    async now(owner = own, time) {
      requireSeen(owner);
      return { owner, ...(await readOwnUsage(store, owner, time)) };
    },
    async owners(days, { limit, offset }) {
      if (mayAdminister) return await store.owners(days, { limit, offset });
      const used = await store.days(own, days);
      const owners = used.length === 0 ? [] : [{ owner: own, ...sumOf(used) }];
      return { owners: owners.slice(offset, offset + limit), total: owners.length };
    },
    async models(days, owner) {
      if (owner !== undefined) requireSeen(owner);
      return await store.models(days, owner ?? (mayAdminister ? undefined : own));
    },
  };
}
