import { z } from "zod";
import {
  ask,
  getThread,
  readMessages,
  textOf,
  WireMessage,
  type Addressed,
  type StateMessage,
} from "../harness/world.ts";

/**
 * How a client edits an earlier message: by a run from the checkpoint before it, named in either of two ways (as useStream
 * does), or by a new state at the checkpoint where it stands and a run without input from there (as Studio does).
 */
export const editWays = ["checkpoint", "checkpoint_id", "state"] as const;
export type EditWay = (typeof editWays)[number];

const Checkpoint = z.looseObject({ checkpoint_id: z.string() });
const PastState = z.looseObject({
  checkpoint: Checkpoint,
  parent_checkpoint: Checkpoint.nullish(),
  values: z.looseObject({ messages: z.array(WireMessage).default([]) }).nullish(),
});
const Updated = z.looseObject({ checkpoint: z.looseObject({ checkpoint_id: z.string() }) });

/** A state of a session's past. */
export type PastState = z.infer<typeof PastState>;

/** The states of a session, newest first, of all its branches. */
export async function readPast(server: Addressed, threadId: string, limit: number): Promise<PastState[]> {
  return z.array(PastState).parse(await ask(server, "GET", `/threads/${threadId}/history?limit=${limit}`));
}

/** The messages of a state of the past. */
export function messagesAt(state: PastState): StateMessage[] {
  return state.values?.messages ?? [];
}

/** An edit on its way: the body of the run that makes it, and what must be so when that run is over. */
export interface Edit {
  body: object;
  /** The texts of all messages of the new branch before the answer. */
  texts: string[];
  /** The newest state of the old branch. */
  old: { checkpointId: string; texts: string[]; messages: string };
}

/** Prepares the edit of the person's message number `which` (modulo their number); nothing when there is none. */
export async function prepareEdit(
  server: Addressed,
  threadId: string,
  { which, way, text }: { which: number; way: EditWay; text: string },
): Promise<Edit | undefined> {
  const past = await readPast(server, threadId, 1000);
  const [head] = past;
  if (head === undefined) return undefined;
  const human = messagesAt(head).filter(({ type }) => type === "human");
  const id = human[which % human.length]?.id;
  const seen = past.findLast((state) => messagesAt(state).some((message) => message.id === id));
  const before = seen?.parent_checkpoint;
  if (id === undefined || seen === undefined || before === undefined || before === null) return undefined;
  const old = {
    checkpointId: head.checkpoint.checkpoint_id,
    texts: messagesAt(head).map(textOf),
    messages: JSON.stringify(messagesAt(head)),
  };
  const message = { role: "user", content: text };
  if (way === "state") {
    const values = { messages: [{ ...message, id }] };
    const update = { values, as_node: "__start__", checkpoint: seen.checkpoint };
    const { checkpoint } = Updated.parse(await ask(server, "POST", `/threads/${threadId}/state`, update));
    // The first state with the message ends with it. A call that waits is shown behind it, but goes with the old branch.
    const known = messagesAt(seen);
    const until = known.findIndex((other) => other.id === id);
    const texts = [...known.slice(0, until).map(textOf), text];
    return { body: { checkpoint }, texts, old };
  }
  const earlier = past.find(({ checkpoint }) => checkpoint.checkpoint_id === before.checkpoint_id);
  const texts = [...(earlier === undefined ? [] : messagesAt(earlier).map(textOf)), text];
  const from = way === "checkpoint" ? { checkpoint: before } : { checkpoint_id: before.checkpoint_id };
  return { body: { ...from, input: { messages: [message] } }, texts, old };
}

/** What is wrong after the edit's run: on the new branch, or with the old one. */
export async function editProblems(server: Addressed, threadId: string, edit: Edit): Promise<string[]> {
  const problems: string[] = [];
  const now = (await readMessages(server, threadId)).map(textOf);
  if (JSON.stringify(now.slice(0, -1)) !== JSON.stringify(edit.texts)) {
    problems.push(`after an edit it holds ${JSON.stringify(now)}, not ${JSON.stringify(edit.texts)} and an answer`);
  }
  const { status } = await getThread(server, threadId);
  if (status !== "idle") problems.push(`after an edit the session is ${status}`);
  const { checkpointId, messages } = edit.old;
  const past = await readPast(server, threadId, 1000);
  if (!past.some(({ checkpoint }) => checkpoint.checkpoint_id === checkpointId)) {
    problems.push("the branch before an edit is not in the history");
  }
  const old = PastState.parse(await ask(server, "GET", `/threads/${threadId}/state/${checkpointId}`));
  if (JSON.stringify(messagesAt(old)) !== messages) problems.push("the branch before an edit has changed");
  return problems;
}
