import { type Message, Role, type Task, TaskState, type TaskStatus } from "@a2a-js/sdk";
import type { Language } from "../../language.ts";
import { interruptedRun } from "../../runs/admission/executed-runs.ts";
import { isOver } from "../../runs/status.ts";
import { readQuestion, resumeValue } from "../../sessions/questions/questions.ts";
import { type Approval, JsonObject, type Run } from "../../storage/records.ts";
import type { HttpServices } from "../environment.ts";
import { questionText } from "../requests/thread.ts";
import { toWireJson } from "../responses/wire.ts";
import { createArtifactReader, dataPart, textPart } from "./artifacts.ts";
import { z } from "zod";
import { ContentTypeNotSupportedError, RequestMalformedError } from "@a2a-js/sdk/errors";
import { readDecision } from "../../sessions/questions/read-decision.ts";

/** A task: a run, and the runs that answered its questions. Its id is that of the first run. */
export interface TaskOfRuns {
  id: string;
  last: Run;
}

/** Runs per query. */
const pageSize = 50;

/** Whether a run continues an earlier one that waited for an answer. */
function isAnswer({ kwargs }: Run): boolean {
  return (kwargs.command?.["resume"] ?? undefined) !== undefined;
}

/** The id of a run's task. */
export async function taskIdOf(services: Pick<HttpServices, "runs">, run: Run): Promise<string> {
  return isAnswer(run) ? (await taskOf(services, run)).id : run.run_id;
}

/** The task of a run. Only runs newer than the task's first one are read. */
export async function taskOf({ runs }: Pick<HttpServices, "runs">, run: Run): Promise<TaskOfRuns> {
  const newer: Run[] = [];
  let first = isAnswer(run) ? undefined : run;
  let isPassed = false;
  for (let offset = 0; !isPassed || first === undefined; offset += pageSize) {
    const page = await runs.list(run.session_id, { limit: pageSize, offset });
    for (const one of page) {
      if (one.run_id === run.run_id) isPassed = true;
      else if (!isPassed) newer.push(one);
      else if (first === undefined && !isAnswer(one)) first = one;
    }
    if (page.length < pageSize) break;
  }
  let last = run;
  for (const one of newer.toReversed()) {
    if (isAnswer(one)) last = one;
    // A run that was stopped before it started has changed nothing.
    else if (one.attempt > 0 || !isOver(one.status)) break;
  }
  return { id: first?.run_id ?? run.run_id, last };
}

/** The questions that a task waits for; none while it works or when it is over. */
export async function questionsOf({ storage, runs }: HttpServices, { last }: TaskOfRuns): Promise<Approval[]> {
  if (last.status !== "success") return [];
  const waiting = await storage.approvals.pending(last.session_id);
  if (waiting.length === 0) return [];
  const asking = await interruptedRun(runs, last.session_id);
  return asking?.run_id === last.run_id ? waiting : [];
}

/** A task's state, with its question or its failure. */
export async function statusOf(services: HttpServices, task: TaskOfRuns, language: Language): Promise<TaskStatus> {
  const { last } = task;
  const timestamp = last.updated_at;
  const simple = (state: TaskState): TaskStatus => ({ state, message: undefined, timestamp });
  switch (last.status) {
    case "pending":
      return simple(TaskState.TASK_STATE_SUBMITTED);
    case "running":
      return simple(TaskState.TASK_STATE_WORKING);
    case "interrupted":
      return simple(TaskState.TASK_STATE_CANCELED);
    case "error":
    case "timeout": {
      const text = last.error?.message ?? `The run ended with ${last.status}`;
      return {
        state: TaskState.TASK_STATE_FAILED,
        message: messageOf(task, "failure", [textPart(text)]),
        timestamp,
      };
    }
    case "success": {
      const waiting = await questionsOf(services, task);
      if (waiting.length === 0) return simple(TaskState.TASK_STATE_COMPLETED);
      const parts = waiting.flatMap(({ interrupt_id, value }) => {
        const text = questionText(readQuestion(value), language);
        const data: unknown = JSON.parse(toWireJson({ interrupt_id, value }));
        return [...(text === null ? [] : [textPart(text)]), dataPart(data)];
      });
      return { state: TaskState.TASK_STATE_INPUT_REQUIRED, message: messageOf(task, "question", parts), timestamp };
    }
  }
}

function messageOf({ id, last }: TaskOfRuns, what: string, parts: Message["parts"]): Message {
  return {
    messageId: `${last.run_id}-${what}`,
    contextId: last.session_id,
    taskId: id,
    role: Role.ROLE_AGENT,
    parts,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

/** The whole task, with the answer if it is completed. */
export async function toTask(
  services: HttpServices,
  task: TaskOfRuns,
  { language, hasMessages, signal }: { language: Language; hasMessages: boolean; signal: AbortSignal },
): Promise<Task> {
  const status = await statusOf(services, task, language);
  const artifacts = [];
  if (status.state === TaskState.TASK_STATE_COMPLETED) {
    const reader = createArtifactReader(task.last, hasMessages);
    for await (const batch of services.runs.followBatches(task.last, -1, signal)) {
      for (const event of batch) reader.read(event);
    }
    const answer = reader.final();
    if (answer !== undefined) artifacts.push(answer);
  }
  return { id: task.id, contextId: task.last.session_id, status, artifacts, history: [], metadata: undefined };
}

const Content = z.discriminatedUnion("$case", [
  z.object({ $case: z.literal("text"), value: z.string() }),
  z.object({ $case: z.literal("data"), value: z.unknown() }),
  z.object({ $case: z.enum(["raw", "url"]), value: z.unknown() }),
]);

const SentMessage = z.object({
  contextId: z.string(),
  taskId: z.string(),
  parts: z
    .array(z.object({ content: Content }))
    .min(1)
    .max(1_000),
});

/** The content and the target of a client's message. */
export interface ClientMessage {
  /** Empty for a new context. */
  contextId: string;
  /** Empty for a new task. */
  taskId: string;
  text: string;
  data: unknown[];
}

/** Reads a message that the library has normalised. Throws the protocol's errors; no graph accepts files yet. */
export function readMessage(message: unknown): ClientMessage {
  const parsed = SentMessage.safeParse(message);
  if (!parsed.success) throw new RequestMalformedError(`message: ${z.prettifyError(parsed.error)}`);
  const { contextId, taskId, parts } = parsed.data;
  const data: unknown[] = [];
  const texts: string[] = [];
  for (const { content } of parts) {
    if (content.$case === "text") texts.push(content.value);
    else if (content.$case === "data") data.push(content.value);
    else throw new ContentTypeNotSupportedError("Send text and data parts: files are not taken.");
  }
  return { contextId, taskId, text: texts.join("\n"), data };
}

/**
 * The input of a run. Data goes to the channels it names; in a conversation, the rest becomes text for the model, as
 * JSON. Throws if a graph without messages receives text.
 */
export function toInput({ text, data }: ClientMessage, channels: readonly string[]): JsonObject {
  const input: JsonObject = {};
  if (!channels.includes("messages")) {
    if (text.trim() !== "") {
      throw new RequestMalformedError(
        'The graph of this assistant has no channel "messages": send one data part with its input, and no text.',
      );
    }
    for (const value of data) Object.assign(input, objectOf(value));
    return input;
  }
  const words = text === "" ? [] : [text];
  for (const value of data) {
    const entries = Object.entries(JsonObject.safeParse(value).data ?? { "": value });
    const isField = ([name]: [string, unknown]): boolean => channels.includes(name);
    Object.assign(input, Object.fromEntries(entries.filter(isField)));
    const others = entries.filter((entry) => !isField(entry));
    if (others.length > 0) words.push(JSON.stringify(others[0]?.[0] === "" ? value : Object.fromEntries(others)));
  }
  if (words.length === 0 && "messages" in input) return input;
  return { ...input, messages: [{ role: "user", content: words.join("\n\n") }] };
}

function objectOf(value: unknown): JsonObject {
  const parsed = JsonObject.safeParse(value);
  if (!parsed.success)
    throw new RequestMalformedError("A data part for this assistant is an object: its graph's input.");
  return parsed.data;
}

/**
 * The answer to a waiting question: data as it is (by question ids, if it names them), text as it is, except for
 * actions of a graph that is not ours, which take a yes or a no.
 */
export function toResume(message: ClientMessage, waiting: readonly Approval[], understandsWords: boolean): unknown {
  const [first] = waiting;
  const [data] = message.data;
  const ids = waiting.map(({ interrupt_id }) => interrupt_id);
  if (message.data.length > 0) {
    const named = Object.keys(JsonObject.safeParse(data).data ?? {});
    return named.length > 0 && named.every((id) => ids.includes(id)) ? data : { [first?.interrupt_id ?? ""]: data };
  }
  return { [first?.interrupt_id ?? ""]: understandsWords ? message.text : answerOf(message.text, first?.value) };
}

function answerOf(text: string, value: unknown): unknown {
  const question = readQuestion(value);
  if (question.actions.length === 0) return text;
  const { kind } = readDecision(text);
  if (kind === "approve" || kind === "reject") return resumeValue(question, { type: kind });
  throw new RequestMalformedError(
    'This question takes yes or no, or a data part {"decisions": [{"type": "approve"}]}.',
  );
}
