import { clusterTime } from "../../concurrency/cluster-time.ts";
import type { SessionRuns, SessionStorage } from "../scope/session-storage.ts";
import { deleteSession, isDone } from "../sessions.ts";
import type { Logger } from "../../logger.ts";
import { Alarm, peerPollInterval } from "../../runs/events/alarm.ts";
import type { Runs } from "../../runs/runs.ts";
import type { SessionTtl } from "../../storage/record-stores.ts";
import type { Storage } from "../../storage/storage.ts";
import type { BaseMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  type CheckpointTuple,
  copyCheckpoint,
  emptyCheckpoint,
  maxChannelVersion,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { messagesIn } from "../messages/conversation.ts";

/** What a checkpointer, such as ours, may support beyond LangGraph's contract. */
interface PruningSaver {
  prune(sessionId: string, options: { keepLatest: number }): Promise<void>;
  vacuum(): Promise<void>;
}

function canPrune(saver: object): saver is PruningSaver {
  return (
    "prune" in saver && typeof saver.prune === "function" && "vacuum" in saver && typeof saver.vacuum === "function"
  );
}

/** The checkpointer, if it can delete old states. */
function pruningSaver(saver: object): PruningSaver | undefined {
  return canPrune(saver) ? saver : undefined;
}

/**
 * Deletes sessions, or all their states but the newest, and frees the space. Returns the number pruned, which excludes
 * unknown ids, active sessions with `keep_latest`, and sessions the caller may see but not change.
 */
export async function pruneSessions(
  parts: { storage: SessionStorage; runs: Pick<SessionRuns, "between" | "cancelSession"> },
  request: { ids: readonly string[]; strategy: "delete" | "keep_latest" },
): Promise<number> {
  const saver = pruningSaver(parts.storage.checkpointer);
  let pruned = 0;
  for (const id of new Set(request.ids)) {
    if ((await parts.storage.sessions.get(id)) === undefined) continue;
    const work = request.strategy === "delete" ? deleteSession(parts, id) : keepLatest(parts, id, saver);
    if (await isDone(work)) pruned += 1;
  }
  if (pruned > 0) await saver?.vacuum();
  return pruned;
}

/** Deletes all states but the newest of a session without active runs; false for any other. */
async function keepLatest(
  { storage, runs }: Parameters<typeof pruneSessions>[0],
  sessionId: string,
  saver: PruningSaver | undefined,
): Promise<boolean> {
  return await runs.between(sessionId, async () => {
    const session = await storage.sessions.get(sessionId);
    if (saver === undefined || session === undefined || session.status === "busy") return false;
    await saver.prune(sessionId, { keepLatest: 1 });
    return true;
  });
}

const minute = 60_000;
/** Milliseconds before a pruned session is pruned again. */
const pruneAgain = 60 * minute;

/** Deletes expired sessions and items. */
interface Expiry {
  /** Deletes nothing more; resolves when work in progress has ended. */
  stop(): Promise<void>;
}

interface ExpiryParts {
  storage: Pick<Storage, "items" | "ttls" | "notifications" | "cluster" | "sessions" | "checkpointer">;
  runs: Pick<Runs, "between" | "cancelSession">;
  logger: Logger;
}

/** The earliest of some dates, in milliseconds. */
function earliest(dates: readonly (string | undefined)[]): number | undefined {
  const times = dates.flatMap((date) => (date === undefined ? [] : [Date.parse(date)]));
  return times.length === 0 ? undefined : Math.min(...times);
}

/**
 * Deletes expired items, and deletes or prunes expired sessions, using one timer for the next expiry. An active or just
 * touched session stays. Failures are logged and retried after a minute. Of several servers the leading one does it.
 */
export function startExpiry({ storage, runs, logger }: ExpiryParts): Expiry {
  const { items, ttls } = storage;
  const saver = pruningSaver(storage.checkpointer);

  /** Expires a session, unless it was touched since it was read. */
  async function end({ session_id: id }: SessionTtl): Promise<void> {
    await runs.between(id, async () => {
      const ttl = await ttls.get(id);
      if (ttl === undefined || Date.parse(ttl.expires_at) > clusterTime()) return;
      if (ttl.strategy === "delete") {
        await runs.cancelSession(id);
        await storage.sessions.delete(id);
        return;
      }
      await saver?.prune(id, { keepLatest: 1 });
      await ttls.moveOn(id, new Date(clusterTime() + Math.max(ttl.minutes * minute, pruneAgain)).toISOString());
    });
  }

  async function endDue(): Promise<boolean> {
    let isDone = true;
    const due = await ttls.due();
    for (const ttl of due) {
      try {
        await end(ttl);
      } catch (error) {
        isDone = false;
        logger.error({ err: error, session_id: ttl.session_id }, "session_not_expired");
      }
    }
    if (due.length > 0) await saver?.vacuum();
    return isDone;
  }

  const alarm = new Alarm(
    async () => {
      if (!storage.cluster.isLeader) return undefined;
      try {
        const next = await items.expire();
        if (!(await endDue())) return clusterTime() + minute;
        return earliest([next, await ttls.next()]);
      } catch (error) {
        logger.error({ err: error }, "nothing_expired");
        return clusterTime() + minute;
      }
    },
    storage.notifications.isShared ? peerPollInterval : undefined,
  );
  for (const store of [items, ttls]) store.onExpiry((time) => alarm.scheduleAt(Date.parse(time)));
  alarm.scheduleAt(clusterTime());
  return alarm;
}

/** The ancestors of a session's newest state, newest first. Abandoned branches and states of subgraphs are excluded. */
export async function* readChain(saver: BaseCheckpointSaver, sessionId: string): AsyncGenerator<CheckpointTuple> {
  let wanted: unknown;
  for await (const tuple of saver.list({ configurable: { thread_id: sessionId, checkpoint_ns: "" } })) {
    if (wanted !== undefined && tuple.checkpoint.id !== wanted) continue;
    yield tuple;
    wanted = tuple.parentConfig?.configurable?.["checkpoint_id"];
    if (wanted === undefined) return;
  }
}

/** Whether a state holds a prefix of `messages`, judging by ids. */
export function isPrefix(tuple: CheckpointTuple, messages: readonly BaseMessage[]): boolean {
  const held = messagesIn(tuple.checkpoint.channel_values);
  // Messages are appended and replaced in place: if the last one matches, so do those before it.
  return held.length <= messages.length && held.at(-1)?.id === messages[held.length - 1]?.id;
}

/**
 * The state from which a run continues as if nothing after `messages` had been said. `undefined` if it was pruned or
 * the turn before was edited.
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
    // Prefer a state without the next input: a run replaces that input.
    if (tuple.metadata?.source !== "input") return tuple;
    withInput ??= tuple;
  }
  return withInput;
}

/** A new state's messages, and any other channels to set. */
export type NewValues = Record<string, unknown> & { messages: BaseMessage[] };

/**
 * Writes a child of `base` with other values, or an initial state without a base. It schedules no node: LangGraph's
 * nodes wait for channels of their own.
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
  // All our savers use numeric versions.
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
