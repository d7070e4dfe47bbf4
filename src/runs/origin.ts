import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { JsonObject, type Run } from "@millrace/engine/storage/records";

const Origin = z.object({ checkpoint_id: z.string().nullish(), checkpoint_ns: z.string().nullish() });

/**
 * Makes sure that the checkpoint a run is to start from exists: from a missing one LangGraph would start with an empty
 * state, and the session would go on as if nothing had ever been said in it. Throws `not_found`, and
 * `invalid_parameter` for an id that is no text.
 */
export async function requireOrigin(
  { session_id, kwargs }: Pick<Run, "session_id" | "kwargs">,
  checkpointer: BaseCheckpointSaver,
): Promise<void> {
  const configurable = JsonObject.safeParse(kwargs.config["configurable"]).data ?? {};
  const origin = Origin.safeParse({ ...configurable, ...kwargs.checkpoint });
  if (!origin.success) {
    throw new AppError("invalid_parameter", "checkpoint_id and checkpoint_ns are texts; something else came.", {
      suggestion: "Send them as GET /threads/{thread_id}/history shows them.",
    });
  }
  const { checkpoint_id, checkpoint_ns } = origin.data;
  if (typeof checkpoint_id !== "string") return;
  await requireCheckpoint({ thread_id: session_id, checkpoint_ns: checkpoint_ns ?? "", checkpoint_id }, checkpointer);
}

/** Throws `not_found` where there is no such checkpoint. */
export async function requireCheckpoint(
  place: { thread_id: string; checkpoint_ns: string; checkpoint_id: string },
  checkpointer: BaseCheckpointSaver,
): Promise<void> {
  const { checkpoint_id } = place;
  if ((await checkpointer.getTuple({ configurable: place })) !== undefined) return;
  throw new AppError("not_found", `Checkpoint ${checkpoint_id} not found`, {
    suggestion: "GET /threads/{thread_id}/history lists the checkpoints of the thread.",
  });
}
