import { AppError } from "@millrace/engine/errors/errors";
import { messagesIn } from "@millrace/engine/sessions/messages/conversation";
import type { SessionStorage } from "@millrace/engine/sessions/scope/session-storage";
import { readChain } from "@millrace/engine/sessions/state/prune";
import type { Operations } from "../../tools/undo/operations.ts";

/** A starting point: a message or a checkpoint. */
interface Since {
  message?: string | undefined;
  checkpoint?: string | undefined;
}

/**
 * The time (ISO date) from which on something came after a message, it included, or after a state; `undefined` where
 * neither is named. Throws `not_found` for one that the session has not.
 */
export async function timeSince(
  { storage, operations }: { storage: Pick<SessionStorage, "checkpointer">; operations: Pick<Operations, "list"> },
  sessionId: string,
  { message, checkpoint }: Since,
): Promise<string | undefined> {
  if (checkpoint !== undefined) {
    const place = { thread_id: sessionId, checkpoint_ns: "", checkpoint_id: checkpoint };
    const state = await storage.checkpointer.getTuple({ configurable: place });
    if (state === undefined) throw new AppError("not_found", `Checkpoint ${checkpoint} not found`);
    return new Date(Date.parse(state.checkpoint.ts) + 1).toISOString();
  }
  if (message === undefined) return undefined;
  let first: string | undefined;
  for await (const { checkpoint: state } of readChain(storage.checkpointer, sessionId)) {
    if (!messagesIn(state.channel_values).some(({ id }) => id === message)) break;
    first = state.ts;
  }
  // A reply's calls run before the reply is in a checkpoint.
  const { operations: own, total } = await operations.list(sessionId, { message_id: message, limit: 1, offset: 0 });
  const oldest =
    total <= 1
      ? own
      : (await operations.list(sessionId, { message_id: message, limit: 1, offset: total - 1 })).operations;
  const times = [first, oldest[0]?.created_at].filter((time) => time !== undefined).toSorted();
  if (times[0] === undefined) {
    throw new AppError("not_found", `Message ${message} not found in this thread`, {
      suggestion: "GET /threads/:id/messages lists the messages with their ids.",
    });
  }
  return times[0];
}
