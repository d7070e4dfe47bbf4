import { z } from "zod";

/** How long something stays, in minutes. From the year 10000 on dates are written otherwise, and sort before all others. */
export const Minutes = z.number().positive().max(4_000_000_000);

/** What `store.ttl` of a langgraph.json says. How often to look is passed over: the server knows when something is due. */
export const ItemTtl = z.looseObject({ default_ttl: Minutes.nullish(), refresh_on_read: z.boolean().default(true) });

/** What `checkpointer.ttl` of a langgraph.json says. */
export const ThreadTtl = z.looseObject({
  default_ttl: Minutes.nullish(),
  strategy: z.enum(["delete", "keep_latest"]).default("delete"),
});

/** How long new rows are kept by default, in minutes; `null`: for ever. */
export interface DefaultTimes {
  /** `refresh`: whether reading an item lets its time begin anew. */
  items: { ttl: number | null; refresh: boolean };
  sessions: { minutes: number; strategy: "delete" | "keep_latest" } | null;
}

/** How long what is new stays, by what a langgraph.json says of items and of threads. */
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
