import { z } from "zod";
import { Minutes } from "../../config/default-times.ts";
import { SessionTtl, type SessionTtlStore } from "../../storage/session-ttls.ts";

const { strategy: Strategy } = SessionTtl.shape;

/** How long a thread stays that nobody touches: minutes, or minutes and what becomes of it. */
export const ThreadTtl = z
  .union([Minutes, z.object({ ttl: Minutes, strategy: Strategy.nullish() })])
  .describe(
    "Minutes that the thread stays after it was last touched, and whether it goes then (`delete`) or its states but the newest one",
  );

/** A thread's time as the wire shows it. */
export const ThreadTtlShape = z.object({
  strategy: Strategy,
  ttl_minutes: z.number(),
  expires_at: z.string(),
});

/** A thread's time in the wire's words; nothing of a thread that has none. */
export function toWireTtl(ttl: SessionTtl | undefined): { ttl?: z.infer<typeof ThreadTtlShape> } {
  if (ttl === undefined) return {};
  return { ttl: { strategy: ttl.strategy, ttl_minutes: ttl.minutes, expires_at: ttl.expires_at } };
}

/** Gives a thread, by `set`, the time that a request names, and says which; without one (`undefined`) nothing is changed or said. */
export async function setTtl(
  set: (ttl: Parameters<SessionTtlStore["set"]>[1]) => ReturnType<SessionTtlStore["set"]>,
  wanted: z.infer<typeof ThreadTtl> | null | undefined,
): Promise<ReturnType<typeof toWireTtl>> {
  if (wanted === undefined) return {};
  if (wanted === null) return toWireTtl(await set(null));
  const { ttl: minutes, strategy = null } = typeof wanted === "number" ? { ttl: wanted } : wanted;
  return toWireTtl(await set({ minutes, strategy: strategy ?? "delete" }));
}
