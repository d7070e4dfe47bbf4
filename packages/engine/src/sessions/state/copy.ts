import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as newId } from "@langchain/core/utils/uuid";
import type { BaseCheckpointSaver, CheckpointTuple, PendingWrite } from "@langchain/langgraph-checkpoint";
import type { Graphs } from "../../graphs/load.ts";
import { readPause } from "../../runs/status.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import type { SessionRuns, SessionStorage } from "../scope/session-storage.ts";
import { copiedConfig } from "../overview/last-run.ts";
import { createSession, requireSession } from "../sessions.ts";
import { graphOf } from "./state.ts";

/**
 * Copies a session with its whole history of checkpoints; runs stay behind, but for what the last one chose. The copy
 * appears only when everything is in it, and what waits for an answer in the source waits in the copy too; else it is
 * idle. `metadata` is merged into that of the source. Throws `not_found`.
 */
export async function copySession(
  { storage, graphs, runs }: { storage: SessionStorage; graphs: Graphs; runs: Pick<SessionRuns, "list"> },
  sessionId: string,
  metadata: JsonObject = {},
): Promise<Session> {
  const source = await requireSession(storage, sessionId);
  const copyId = newId();
  try {
    await copyCheckpoints(storage.checkpointer, sessionId, copyId);
    // It may have been deleted meanwhile: half a copy is none.
    await requireSession(storage, sessionId);
    const interrupts = await questionsIn({ graphs, runs }, source, copyId);
    const isWaiting = source.status === "interrupted" || Object.keys(interrupts).length > 0;
    return await createSession(storage, {
      session_id: copyId,
      metadata: { ...source.metadata, thread_id: copyId, copied_from: sessionId, ...metadata },
      config: await copiedConfig(runs, source),
      ...(isWaiting ? { rest: { status: "interrupted", interrupts } } : {}),
    });
  } catch (error) {
    await storage.checkpointer.deleteThread(copyId);
    throw error;
  }
}

/** What the copied states ask: a run of the source may have gone on since the source was read. */
async function questionsIn(
  { graphs, runs }: Parameters<typeof graphOf>[0],
  source: Session,
  copyId: string,
): Promise<Session["interrupts"]> {
  const graphId = source.metadata["graph_id"];
  // A graph that is not served any more can be copied, and cannot be asked.
  if (typeof graphId !== "string" || !graphs.ids().includes(graphId)) return source.interrupts;
  const graph = await graphOf({ graphs, runs }, source, "threads.read");
  return graph === undefined ? source.interrupts : (await readPause(graph, copyId)).interrupts;
}

async function copyCheckpoints(saver: BaseCheckpointSaver, from: string, to: string): Promise<void> {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of saver.list({ configurable: { thread_id: from } })) {
    tuples.push(tuple);
    // Others are served meanwhile.
    await nextTurn();
  }
  // The list is newest first; a parent must be there before its child.
  for (const tuple of tuples.reverse()) {
    await copyCheckpoint(saver, tuple, to);
    await nextTurn();
  }
}

/** Writes a state of one session into another, with its pending writes; its parent has to be there. */
export async function copyCheckpoint(saver: BaseCheckpointSaver, tuple: CheckpointTuple, to: string): Promise<void> {
  const { checkpoint, metadata, parentConfig, pendingWrites } = tuple;
  const place = { thread_id: to, checkpoint_ns: tuple.config.configurable?.["checkpoint_ns"] ?? "" };
  const parentId: unknown = parentConfig?.configurable?.["checkpoint_id"];
  const written = await saver.put(
    { configurable: parentId === undefined ? place : { ...place, checkpoint_id: parentId } },
    checkpoint,
    // A saved checkpoint always has metadata; those of a bare graph may be missing in the type only.
    {
      source: "fork",
      step: 0,
      parents: {},
      ...metadata,
      ...(metadata && "thread_id" in metadata && { thread_id: to }),
    },
    checkpoint.channel_versions,
  );
  for (const [taskId, writes] of Map.groupBy(pendingWrites ?? [], ([task]) => task)) {
    await saver.putWrites(
      written,
      writes.map(([, channel, value]): PendingWrite => [channel, value]),
      taskId,
    );
  }
}
