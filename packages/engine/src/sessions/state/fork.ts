import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { BaseMessage } from "@langchain/core/messages";
import { v7 as newId } from "@langchain/core/utils/uuid";
import type { BaseCheckpointSaver, CheckpointTuple, PendingWrite } from "@langchain/langgraph-checkpoint";
import { isAIMessage, isToolMessage } from "../../message-kinds.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import { isPrefix, putValues, readChain } from "./prune.ts";
import { indexOfMessage, messagesIn, readMessages, validList } from "../messages/conversation.ts";
import type { SessionRuns, SessionStorage } from "../scope/session-storage.ts";
import { copiedConfig } from "../overview/last-run.ts";
import { createSession, requireSession } from "../sessions.ts";
import { toStored } from "../messages/stored-message.ts";
import type { Graphs } from "../../graphs/load.ts";
import { readPause } from "../../runs/status.ts";
import { graphOf } from "./state.ts";

/** Where to fork, and the fork's name. */
export interface ForkRequest {
  messageId: string;
  /** Merged into the source's metadata. */
  metadata: JsonObject;
}

/**
 * A new session with the old one's messages up to and including one, and the states that led there. A call includes its
 * results, so that the copy is valid. It is idle and visible only once complete; runs (except the last one's context),
 * and the effects of tools, stay with the source. Throws `not_found` for an unknown session or message.
 */
export async function forkSession(
  { storage, runs }: { storage: SessionStorage; runs: Pick<SessionRuns, "list"> },
  sessionId: string,
  { messageId, metadata: given }: ForkRequest,
): Promise<Session> {
  const source = await requireSession(storage, sessionId);
  const messages = await readMessages(storage, sessionId);
  const wanted = upTo(messages, indexOfMessage(messages, messageId));
  return await withNewStates(storage, async (forkId) => {
    await copyStates(storage, { from: sessionId, to: forkId }, wanted);
    // It may have been deleted meanwhile: never leave a partial fork.
    await requireSession(storage, sessionId);
    // The title describes the whole session, and the origin is the source's own.
    const { title: _title, copied_from: _origin, ...metadata } = source.metadata;
    return await createSession(storage, {
      session_id: forkId,
      metadata: {
        ...metadata,
        thread_id: forkId,
        forked_from: { thread_id: sessionId, message_id: wanted.at(-1)?.id ?? messageId },
        ...given,
      },
      config: await copiedConfig(runs, source),
    });
  });
}

/** Runs `write`, which writes the states of a new session and then creates it; where it fails, they are removed. */
export async function withNewStates(
  { checkpointer, whileCreating }: Pick<SessionStorage, "checkpointer" | "whileCreating">,
  write: (sessionId: string) => Promise<Session>,
): Promise<Session> {
  const sessionId = newId();
  const work = async (): Promise<Session> => {
    try {
      return await write(sessionId);
    } catch (error) {
      await checkpointer.deleteThread(sessionId);
      throw error;
    }
  };
  return await (whileCreating === undefined ? work() : whileCreating(sessionId, work));
}

/** The messages up to one, with all results of its calls. */
function upTo(messages: readonly BaseMessage[], index: number): BaseMessage[] {
  let end = index + 1;
  const belongs = (message: BaseMessage | undefined): boolean => message !== undefined && isToolMessage(message);
  const last = messages[index];
  const hasCalls = last !== undefined && isAIMessage(last) && (last.tool_calls ?? []).length > 0;
  if (hasCalls || belongs(last)) while (belongs(messages[end])) end += 1;
  return validList(messages.slice(0, end));
}

async function copyStates(
  { checkpointer }: SessionStorage,
  { from, to }: { from: string; to: string },
  wanted: BaseMessage[],
): Promise<void> {
  const kept: CheckpointTuple[] = [];
  for await (const tuple of readChain(checkpointer, from)) {
    // Let other requests run.
    await nextTurn();
    // An input beyond the wanted messages is a later state.
    const isLater = kept.length === 0 && tuple.metadata?.source === "input";
    if (!isLater && isPrefix(tuple, wanted)) kept.push(tuple);
  }
  const [newest, ...older] = kept;
  for (const tuple of older.toReversed()) {
    await copyCheckpoint(checkpointer, tuple, to);
    await nextTurn();
  }
  // Pending writes after the last copied state belong to the source only.
  if (newest !== undefined) await copyCheckpoint(checkpointer, { ...newest, pendingWrites: [] }, to);
  if (newest !== undefined && isSame(messagesIn(newest.checkpoint.channel_values), wanted)) return;
  await putValues(checkpointer, to, newest, { messages: wanted });
}

function isSame(held: readonly BaseMessage[], wanted: readonly BaseMessage[]): boolean {
  return isDeepStrictEqual(held.map(toStored), wanted.map(toStored));
}

/**
 * Copies a session with all its checkpoints; runs stay behind, except the last one's context. The copy becomes visible
 * once complete. Open questions of the source are open in the copy, too; otherwise it is idle. `metadata` is merged
 * into the source's. Throws `not_found`.
 */
export async function copySession(
  { storage, graphs, runs }: { storage: SessionStorage; graphs: Graphs; runs: Pick<SessionRuns, "list"> },
  sessionId: string,
  metadata: JsonObject = {},
): Promise<Session> {
  const source = await requireSession(storage, sessionId);
  return await withNewStates(storage, async (copyId) => {
    await copyCheckpoints(storage.checkpointer, sessionId, copyId);
    // It may have been deleted meanwhile: never leave a partial copy.
    await requireSession(storage, sessionId);
    const interrupts = await questionsIn({ graphs, runs }, source, copyId);
    const isWaiting = source.status === "interrupted" || Object.keys(interrupts).length > 0;
    return await createSession(storage, {
      session_id: copyId,
      metadata: { ...source.metadata, thread_id: copyId, copied_from: sessionId, ...metadata },
      config: await copiedConfig(runs, source),
      ...(isWaiting ? { rest: { status: "interrupted", interrupts } } : {}),
    });
  });
}

/** The questions of the copied states: a run may have continued since the source was read. */
async function questionsIn(
  { graphs, runs }: Parameters<typeof graphOf>[0],
  source: Session,
  copyId: string,
): Promise<Session["interrupts"]> {
  const graphId = source.metadata["graph_id"];
  // The state of a graph that is no longer served can be copied but not read.
  if (typeof graphId !== "string" || !graphs.ids().includes(graphId)) return source.interrupts;
  const graph = await graphOf({ graphs, runs }, source, "threads.read");
  return graph === undefined ? source.interrupts : (await readPause(graph, copyId)).interrupts;
}

async function copyCheckpoints(saver: BaseCheckpointSaver, from: string, to: string): Promise<void> {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of saver.list({ configurable: { thread_id: from } })) {
    tuples.push(tuple);
    // Let other requests run.
    await nextTurn();
  }
  // The list is newest first; a parent must be there before its child.
  for (const tuple of tuples.reverse()) {
    await copyCheckpoint(saver, tuple, to);
    await nextTurn();
  }
}

/** Writes a state of one session into another, with its pending writes; the parent must exist there. */
async function copyCheckpoint(saver: BaseCheckpointSaver, tuple: CheckpointTuple, to: string): Promise<void> {
  const { checkpoint, metadata, parentConfig, pendingWrites } = tuple;
  const place = { thread_id: to, checkpoint_ns: tuple.config.configurable?.["checkpoint_ns"] ?? "" };
  const parentId: unknown = parentConfig?.configurable?.["checkpoint_id"];
  const written = await saver.put(
    { configurable: parentId === undefined ? place : { ...place, checkpoint_id: parentId } },
    checkpoint,
    // Saved checkpoints always have metadata; only the type allows none.
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
