import { createHash } from "node:crypto";
import { z } from "zod";
import { onAbort } from "../../concurrency/abort.ts";
import { isAppError } from "../../errors/errors.ts";
import type { McpMessage, McpStore, McpStream } from "../../storage/cluster.ts";
import type { JsonObject } from "../../storage/records.ts";

/**
 * Batches of a stream's messages with a number above `after`, as they come, until the signal is aborted or the session ends.
 * A batch is empty if it has looked in vain, after `interval` milliseconds at most.
 */
export async function* followStream(
  store: McpStore,
  stream: McpStream,
  { after, signal, interval = Infinity }: { after: number; signal: AbortSignal; interval?: number },
): AsyncGenerator<McpMessage[], void> {
  let hasMoved = false;
  let wake = (): void => undefined;
  const forget = store.watch(stream.session_id, () => {
    hasMoved = true;
    wake();
  });
  try {
    for (let last = after; !signal.aborted;) {
      hasMoved = false;
      const batch = await store.read(stream, last).catch(duringOutage);
      if (batch === undefined) return;
      last = batch.at(-1)?.number ?? last;
      yield batch;
      if (hasMoved) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, Math.min(interval, store.pollInterval)).unref();
      const stopWaiting = onAbort(signal, resolve);
      await promise;
      stopWaiting();
      clearTimeout(timer);
    }
  } finally {
    forget();
  }
}

/** Readers stay during an outage. */
function duringOutage(error: unknown): McpMessage[] {
  if (isAppError(error) && error.code === "storage_unavailable") return [];
  throw error;
}

/** Which message of the client another server waits for: the answer to a question, or the end of a request. */
type Awaited = "answer" | "cancellation";

/** The stream of a message of the client, by the id of the request that it is about. Clients choose ids of any length. */
export function addressOf(session_id: string, kind: Awaited, id: unknown): McpStream {
  const digest = createHash("sha256").update(JSON.stringify(id)).digest("base64url");
  return { session_id, stream: `${kind} ${digest}` };
}

/** Whether a client takes an event that has only an id, so that it can resume a stream before its first message. */
export function takesEmptyEvents(protocolVersion: string | undefined): boolean {
  return protocolVersion !== undefined && protocolVersion >= "2025-11-25";
}

const RequestId = z.union([z.string(), z.number()]);
const Cancelled = z.looseObject({
  method: z.literal("notifications/cancelled"),
  params: z.looseObject({ requestId: RequestId }),
});
const Answer = z
  .looseObject({ id: RequestId, method: z.never().optional() })
  .refine(isResponse, { error: "neither a result nor an error" });

/** Whether a message ends a request. */
export function isResponse(message: JsonObject): boolean {
  return "result" in message || "error" in message;
}

/** Stores what a client has sent for calls that may be at another server. `body`: a message or several. */
export async function deliverMessages(store: McpStore, sessionId: string, body: unknown): Promise<void> {
  for (const message of [body].flat()) {
    const cancelled = Cancelled.safeParse(message).data;
    const answer = Answer.safeParse(message).data;
    if (cancelled !== undefined) {
      await store.deliver(addressOf(sessionId, "cancellation", cancelled.params.requestId), cancelled);
    } else if (answer !== undefined) await store.deliver(addressOf(sessionId, "answer", answer.id), answer);
  }
}
