import type { BaseMessage } from "@langchain/core/messages";
import {
  copyCheckpoint,
  emptyCheckpoint,
  maxChannelVersion,
  uuid6,
  type BaseCheckpointSaver,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { messagesIn } from "../messages/conversation.ts";

/**
 * The states that led to the newest one of a session, newest first: each the parent of the one before. Branches that
 * were left, and the states of subgraphs, are not among them.
 */
export async function* readChain(saver: BaseCheckpointSaver, sessionId: string): AsyncGenerator<CheckpointTuple> {
  let wanted: unknown;
  for await (const tuple of saver.list({ configurable: { thread_id: sessionId, checkpoint_ns: "" } })) {
    if (wanted !== undefined && tuple.checkpoint.id !== wanted) continue;
    yield tuple;
    wanted = tuple.parentConfig?.configurable?.["checkpoint_id"];
    if (wanted === undefined) return;
  }
}

/** Whether a state holds just the first messages of `messages`, as far as their ids tell. */
export function isPrefix(tuple: CheckpointTuple, messages: readonly BaseMessage[]): boolean {
  const held = messagesIn(tuple.checkpoint.channel_values);
  // Messages are appended and replaced in place: with the last one in its place, those before it are the same.
  return held.length <= messages.length && held.at(-1)?.id === messages[held.length - 1]?.id;
}

/**
 * The state from which a run can go on as if nothing after `messages` had been said. `undefined` when there is none any
 * more: it was pruned, or the turn before was changed.
 */
export async function findStateBefore(
  saver: BaseCheckpointSaver,
  sessionId: string,
  messages: readonly BaseMessage[],
): Promise<CheckpointTuple | undefined> {
  let withInput: CheckpointTuple | undefined;
  for await (const tuple of readChain(saver, sessionId)) {
    if (!isPrefix(tuple, messages)) continue;
    if (messagesIn(tuple.checkpoint.channel_values).length < messages.length) break;
    // A state that holds the next input is taken only where there is no other: a run replaces that input.
    if (tuple.metadata?.source !== "input") return tuple;
    withInput ??= tuple;
  }
  return withInput;
}

/** The messages of a state to be written, and any other channels that are to be set with them. */
export type NewValues = Record<string, unknown> & { messages: BaseMessage[] };

/**
 * Writes a state that is `base` with other values, as its child; without a base, one that knows nothing else. No node
 * becomes due by it: in a graph of LangGraph's, nodes wait for channels of their own.
 */
export async function putValues(
  saver: BaseCheckpointSaver,
  sessionId: string,
  base: CheckpointTuple | undefined,
  values: NewValues,
): Promise<CheckpointTuple> {
  const checkpoint = base === undefined ? emptyCheckpoint() : copyCheckpoint(base.checkpoint);
  const step = (base?.metadata?.step ?? -1) + 1;
  const known = Object.values(checkpoint.channel_versions);
  const newest = known.length === 0 ? undefined : maxChannelVersion(...known);
  // Every saver here counts its versions by numbers.
  const version = saver.getNextVersion(typeof newest === "number" ? newest : undefined);
  const versions = Object.fromEntries(Object.keys(values).map((channel) => [channel, version]));
  Object.assign(checkpoint, { id: uuid6(step), ts: new Date().toISOString() });
  checkpoint.channel_values = { ...checkpoint.channel_values, ...values };
  checkpoint.channel_versions = { ...checkpoint.channel_versions, ...versions };
  const parent = base?.checkpoint.id;
  const place = { thread_id: sessionId, checkpoint_ns: "" };
  const metadata = { source: "update" as const, step, parents: base?.metadata?.parents ?? {} };
  const config = await saver.put(
    { configurable: { ...place, ...(parent !== undefined && { checkpoint_id: parent }) } },
    checkpoint,
    metadata,
    versions,
  );
  return { config, checkpoint, metadata, pendingWrites: [] };
}

/** The newest state of a session; `undefined` before its first. */
export function newestState(saver: BaseCheckpointSaver, sessionId: string): Promise<CheckpointTuple | undefined> {
  return saver.getTuple({ configurable: { thread_id: sessionId, checkpoint_ns: "" } });
}
