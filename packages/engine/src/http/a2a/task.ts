import { Role, TaskState, type Message, type Task, type TaskStatus } from "@a2a-js/sdk";
import type { Language } from "../../language.ts";
import { askingRun } from "../../runs/admission/asking-run.ts";
import { isOver } from "../../runs/status.ts";
import { readQuestion } from "../../sessions/questions/questions.ts";
import type { Approval, Run } from "../../storage/records.ts";
import type { HttpServices } from "../environment.ts";
import { questionText } from "../requests/question-text.ts";
import { toWireJson } from "../answers/wire.ts";
import { createArtifactReader, dataPart, textPart } from "./artifacts.ts";

/** A task: a run, and the runs that answered what it asked. Its id is that of the first. */
export interface TaskOfRuns {
  id: string;
  last: Run;
}

const runsAtOnce = 50;

/** Whether a run goes on with one before it, which waited for an answer. */
function isAnswer({ kwargs }: Run): boolean {
  return (kwargs.command?.["resume"] ?? undefined) !== undefined;
}

/** The task that a run belongs to. Only runs that are newer than its first one are looked at. */
export async function taskOf({ runs }: Pick<HttpServices, "runs">, run: Run): Promise<TaskOfRuns> {
  const newer: Run[] = [];
  let first = isAnswer(run) ? undefined : run;
  let isPassed = false;
  for (let offset = 0; !isPassed || first === undefined; offset += runsAtOnce) {
    const page = await runs.list(run.session_id, { limit: runsAtOnce, offset });
    for (const one of page) {
      if (one.run_id === run.run_id) isPassed = true;
      else if (!isPassed) newer.push(one);
      else if (first === undefined && !isAnswer(one)) first = one;
    }
    if (page.length < runsAtOnce) break;
  }
  let last = run;
  for (const one of newer.toReversed()) {
    if (isAnswer(one)) last = one;
    // One that was stopped before it began has changed nothing.
    else if (one.attempt > 0 || !isOver(one.status)) break;
  }
  return { id: first?.run_id ?? run.run_id, last };
}

/** The questions that a task waits for; none while it works, and when it is over. */
export async function questionsOf({ storage, runs }: HttpServices, { last }: TaskOfRuns): Promise<Approval[]> {
  if (last.status !== "success") return [];
  const waiting = await storage.approvals.pending(last.session_id);
  if (waiting.length === 0) return [];
  const asking = await askingRun(runs, last.session_id);
  return asking?.run_id === last.run_id ? waiting : [];
}

/** Where a task is, with what it asks or how it failed. */
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

/** The whole task, with the answer where it is completed. */
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
