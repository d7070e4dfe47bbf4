import { setImmediate as nextTurn } from "node:timers/promises";
import type { BaseMessage } from "@langchain/core/messages";
import { copyCheckpoint, type CheckpointTuple, uuid6 } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { requireCheckpoint } from "../../runs/admission/next-nodes.ts";
import { messagesIn } from "../messages/conversation.ts";
import { roleOf, wordsOf } from "../messages/message-fields.ts";
import { requireIdle, type EditParts } from "./edit-messages.ts";
import { newestState } from "./prune.ts";

/** Characters of a message shown to tell branches apart. */
const firstCharacters = 80;

/** One branch of a session: the states that lead to a leaf. */
export const Branch = z
  .object({
    checkpoint_id: z.string().describe("Its newest state"),
    is_current: z.boolean().describe("The thread goes on from here"),
    message_id: z.string().nullable().describe("The version of the message that was asked for, else the last one"),
    first_words: z.string().describe("How that message begins"),
    role: z.enum(["user", "assistant", "system", "tool"]).nullable(),
    messages: z.number().int().describe("How many it has"),
    began_at: z.string().describe("When it parted from the others"),
    at: z.string().describe("When its newest state was written"),
    runs: z.array(z.string()).describe("The runs that only this branch has, newest first"),
    next: z.boolean().describe("Whether nodes are due: it was stopped, has failed, or has asked something"),
  })
  .meta({ ref: "Branch" });
export type Branch = z.infer<typeof Branch>;

interface State {
  id: string;
  parent: string | undefined;
  at: string;
  run: string | undefined;
}
interface Leaf extends State {
  messages: BaseMessage[];
  isDue: boolean;
}

/**
 * The branches of a session, oldest first; with a message, one per version: the messages in its place on branches with
 * the same beginning. Throws `not_found` for a message on no branch.
 */
export async function readBranches(
  { storage }: Pick<EditParts, "storage">,
  sessionId: string,
  messageId?: string,
): Promise<Branch[]> {
  const { states, leaves, current } = await readTree({ storage }, sessionId);
  const passed = new Map<string, number>();
  for (const leaf of leaves) for (const { id } of chainOf(leaf, states)) passed.set(id, (passed.get(id) ?? 0) + 1);
  const branchOf = (leaf: Leaf, message: BaseMessage | undefined): Branch => {
    const own = chainOf(leaf, states).filter(({ id }) => passed.get(id) === 1);
    return {
      checkpoint_id: leaf.id,
      is_current: leaf.id === current,
      message_id: message?.id ?? null,
      first_words: message === undefined ? "" : beginningOf(wordsOf(message)),
      role: message === undefined ? null : roleOf(message),
      messages: leaf.messages.length,
      began_at: own.at(-1)?.at ?? leaf.at,
      at: leaf.at,
      runs: [...new Set(own.flatMap(({ run }) => run ?? []))],
      next: leaf.isDue,
    };
  };
  const found =
    messageId === undefined
      ? leaves.map((leaf) => branchOf(leaf, leaf.messages.at(-1)))
      : versionsOf(leaves, messageId).map(({ leaf, message }) => branchOf(leaf, message));
  return found.toSorted((one, other) => Number(one.began_at > other.began_at) - Number(one.began_at < other.began_at));
}

/** All root states of a session, with their values for leaves only; newest first. */
async function readTree(
  { storage }: Pick<EditParts, "storage">,
  sessionId: string,
): Promise<{ states: Map<string, State>; leaves: Leaf[]; current: string | undefined }> {
  const states = new Map<string, State>();
  const parents = new Set<string>();
  const leaves: Leaf[] = [];
  let current: string | undefined;
  for await (const tuple of storage.checkpointer.list({ configurable: { thread_id: sessionId, checkpoint_ns: "" } })) {
    const state = stateOf(tuple);
    current ??= state.id;
    states.set(state.id, state);
    if (state.parent !== undefined) parents.add(state.parent);
    if (!parents.has(state.id)) {
      const messages = messagesIn(tuple.checkpoint.channel_values);
      leaves.push({ ...state, messages, isDue: isDue(tuple) });
    }
    // Let other requests run.
    await nextTurn();
  }
  return { states, leaves, current };
}

function stateOf({ checkpoint, parentConfig, metadata }: CheckpointTuple): State {
  const parent: unknown = parentConfig?.configurable?.["checkpoint_id"];
  const run: unknown = metadata !== undefined && "run_id" in metadata ? metadata.run_id : undefined;
  return {
    id: checkpoint.id,
    parent: typeof parent === "string" ? parent : undefined,
    at: checkpoint.ts,
    run: typeof run === "string" ? run : undefined,
  };
}

/** LangGraph schedules a node through a channel of its own, or through a send. */
function isDue({ checkpoint: { channel_values: values } }: CheckpointTuple): boolean {
  const sent = values["__pregel_tasks"];
  return Object.keys(values).some((name) => name.startsWith("branch:")) || (Array.isArray(sent) && sent.length > 0);
}

function chainOf(leaf: State, states: ReadonlyMap<string, State>): State[] {
  const chain: State[] = [];
  for (let at: State | undefined = leaf; at !== undefined; at = states.get(at.parent ?? "")) chain.push(at);
  return chain;
}

/** The messages in a message's place on branches with the same beginning, each with its newest branch. */
function versionsOf(leaves: readonly Leaf[], messageId: string): { leaf: Leaf; message: BaseMessage }[] {
  const known = leaves.find(({ messages }) => messages.some(({ id }) => id === messageId));
  if (known === undefined) {
    throw new AppError("not_found", `Message ${messageId} not found in this thread`, {
      suggestion: "GET /threads/:id/messages lists the messages with their ids.",
    });
  }
  const place = known.messages.findIndex(({ id }) => id === messageId);
  const before = JSON.stringify(known.messages.slice(0, place).map(({ id }) => id));
  const versions = new Map<string, { leaf: Leaf; message: BaseMessage }>();
  for (const leaf of leaves) {
    const message = leaf.messages[place];
    if (message === undefined) continue;
    if (JSON.stringify(leaf.messages.slice(0, place).map(({ id }) => id)) !== before) continue;
    // A message edited in place keeps its id.
    const key = JSON.stringify([message.id, message.content]);
    if (!versions.has(key)) versions.set(key, { leaf, message });
  }
  return [...versions.values()];
}

function beginningOf(words: string): string {
  return Array.from(words.replaceAll(/\s+/gu, " ").trim()).slice(0, firstCharacters).join("");
}

/**
 * Continues a session from one of its states, without a run: writes that state again as the newest one. Later states
 * stay as a branch. Returns the new state's id. Throws `not_found`, and `conflict` while a run works or a question
 * waits, or if the newest state is not `expected`.
 */
export function setHead(
  { storage, runs }: EditParts,
  sessionId: string,
  { checkpointId, expected }: { checkpointId: string; expected: string | undefined },
): Promise<string> {
  return runs.between(sessionId, async () => {
    await requireIdle(storage, sessionId);
    const { checkpointer } = storage;
    const newest = (await newestState(checkpointer, sessionId))?.checkpoint.id;
    if (expected !== undefined && newest !== expected) {
      throw new AppError("conflict", `The newest state of the thread is ${newest ?? "none"}, not ${expected}.`, {
        suggestion: "Look at the thread again: it has gone on meanwhile.",
        message_zh: "会话在此期间已有进展。请重新查看。",
      });
    }
    const place = { thread_id: sessionId, checkpoint_ns: "", checkpoint_id: checkpointId };
    const chosen = await requireCheckpoint(place, checkpointer);
    if (newest === checkpointId) return checkpointId;
    const step = (chosen.metadata?.step ?? -1) + 1;
    const copy = Object.assign(copyCheckpoint(chosen.checkpoint), { id: uuid6(step), ts: new Date().toISOString() });
    const metadata = { source: "fork" as const, step, parents: chosen.metadata?.parents ?? {} };
    await checkpointer.put({ configurable: place }, copy, metadata, {});
    await storage.sessions.update(sessionId, { status: "idle" });
    return copy.id;
  });
}
