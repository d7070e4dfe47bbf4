import { z } from "zod";

/** How long something is kept, in minutes. Dates from the year 10000 on are written differently and sort first. */
export const Minutes = z.number().positive().max(4_000_000_000);

/** `store.ttl` of a langgraph.json. The sweep interval is ignored: the server knows when something expires. */
export const ItemTtl = z.looseObject({ default_ttl: Minutes.nullish(), refresh_on_read: z.boolean().default(true) });

/** `checkpointer.ttl` of a langgraph.json. */
export const ThreadTtl = z.looseObject({
  default_ttl: Minutes.nullish(),
  strategy: z.enum(["delete", "keep_latest"]).default("delete"),
});

/** How long new rows are kept by default, in minutes; `null`: for ever. */
export interface DefaultTimes {
  /** `refresh`: whether reading an item restarts its time. */
  items: { ttl: number | null; refresh: boolean };
  sessions: { minutes: number; strategy: "delete" | "keep_latest" } | null;
}

/** The default times from a langgraph.json's settings for items and threads. */
export function defaultTimes(
  items: z.infer<typeof ItemTtl> | undefined,
  threads: z.infer<typeof ThreadTtl> | undefined,
): DefaultTimes {
  const { default_ttl: minutes, strategy = "delete" } = threads ?? {};
  return {
    items: { ttl: items?.default_ttl ?? null, refresh: items?.refresh_on_read ?? true },
    sessions: minutes === null || minutes === undefined ? null : { minutes, strategy },
  };
}
