import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { readQuestion, type Question } from "../../sessions/questions/questions.ts";
import { inSession, readValues, requireSession } from "../../sessions/sessions.ts";
import type { McpCall } from "../../storage/cluster.ts";
import type { Approval, Assistant, JsonObject, Run, Session } from "../../storage/records.ts";
import type { Submission } from "../../storage/storage.ts";
import type { HttpServices } from "../environment.ts";
import { toWireRunError } from "../errors.ts";
import type { Language } from "../../language.ts";
import { questionText } from "../requests/thread.ts";
import { repeatedRun } from "../requests/repeated.ts";
import { admitRun } from "../requests/runs.ts";
import { RunBody } from "../requests/run-request.ts";
import { Id } from "../validate.ts";
import { toWireJson } from "../responses/wire.ts";

/** A person's decision: an answer for `command.resume`, or none. */
export type Decision = { kind: "answered"; value: unknown } | { kind: "left" };

/** A call that any server can go on with, by the messages that it has stored. */
export interface StoredCall extends McpCall {
  /** A UUID. A new conversation gets it, too. */
  id: string;
  /** Whether another server has begun it. */
  isTakenOver: boolean;
}

/** How a call reaches the client while it runs. */
export interface Caller {
  headers: Record<string, string>;
  requestId: string;
  language: Language;
  /** Aborted when the client cancels the call. */
  signal: AbortSignal;
  /** Absent without a session. */
  call: StoredCall | undefined;
  /** Reports one step of a run; absent if the client did not ask for progress. */
  progress: ((message: string) => Promise<void>) | undefined;
  /** Asks the person at the client; absent if the client cannot. The same question has the same `id`. */
  ask: ((id: string, question: Question, text: string) => Promise<Decision>) | undefined;
}

const OwnArguments = z.looseObject({ thread_id: Id.optional(), resume: z.unknown().optional() });

/**
 * Runs an assistant for a tool call and waits for its end. Questions go to the person if the client can ask; else the
 * result lists them, and a second call with `thread_id` and `resume` answers. Cancelling the call stops the run; losing
 * the connection does not. Throws `AppError` if the run is not admitted.
 */
export async function callAssistant(
  services: HttpServices,
  assistant: Assistant,
  given: JsonObject,
  caller: Caller,
): Promise<CallToolResult> {
  const parsed = OwnArguments.safeParse(given);
  if (!parsed.success) throw new AppError("invalid_parameter", z.prettifyError(parsed.error));
  const { thread_id, resume, ...input } = parsed.data;
  if (resume !== undefined && thread_id === undefined) {
    throw new AppError("missing_parameter", "resume answers what waits in a conversation: thread_id is missing.");
  }
  const { storage } = services;
  let sessionId = thread_id;
  let wanted: JsonObject = resume === undefined ? { input } : { command: { resume } };
  let former: Run | undefined;
  let begun = await runBefore(services, thread_id, caller);
  for (;;) {
    begun ??= await admit(services, { sessionId, former }, assistant, wanted, caller);
    const run = await toItsEnd(services, begun, caller);
    former = run;
    begun = undefined;
    sessionId = run.session_id;
    const waiting = await storage.approvals.pending(run.session_id);
    // A run that ends with a question has done what it could.
    if (run.status !== "success" || waiting.length === 0) return await resultOf(services, run, caller.language);
    const answers = caller.ask === undefined ? undefined : await askAll(run, waiting, caller.ask, caller.language);
    if (answers === undefined) return waitingResult(run, waiting, caller.language);
    wanted = { command: { resume: answers } };
  }
}

/** The key of a call's next run: a server that does not know yet that another one has taken over begins the same run. */
function submissionAfter({ id }: StoredCall, former: Run | undefined): Submission {
  return { key: `${id} ${former?.run_id ?? ""}`, hash: "" };
}

/** The newest run that the server before this one has begun for the call. */
async function runBefore(
  services: HttpServices,
  threadId: string | undefined,
  { call }: Caller,
): Promise<Run | undefined> {
  if (call?.isTakenOver !== true) return undefined;
  let newest: Run | undefined;
  for (;;) {
    const next = await repeatedRun(services, threadId ?? call.id, submissionAfter(call, newest));
    if (next === undefined) return newest;
    newest = next;
  }
}

/** Begins a run of the assistant in the session with this id, or in a new one, after a former one of the call. */
async function admit(
  services: HttpServices,
  { sessionId, former }: { sessionId: string | undefined; former: Run | undefined },
  { assistant_id }: Assistant,
  wanted: JsonObject,
  { headers, requestId, signal, call }: Caller,
): Promise<Run> {
  signal.throwIfAborted();
  const body = RunBody.parse({ assistant_id, ...wanted, stream_mode: ["updates"], multitask_strategy: "enqueue" });
  const submission = call && submissionAfter(call, former);
  const start = (session: Session): Promise<Run> =>
    admitRun(services, session, body, { headers, requestId, submission });
  return await (sessionId === undefined
    ? inSession(services, { session_id: call?.id }, start)
    : start(await requireSession(services.storage, sessionId)));
}

/** The run when it is over; meanwhile it reports its steps, and stops it if the client cancels the call. */
async function toItsEnd(services: HttpServices, run: Run, { signal, progress }: Caller): Promise<Run> {
  const stop = (): void => {
    services.runs.cancel(run.run_id, { action: "interrupt", wait: false }).catch((error: unknown) => {
      services.logger.error({ err: error, run_id: run.run_id }, "mcp_cancel_failed");
    });
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    if (progress !== undefined) await reportSteps(services, run, progress, signal);
    return await services.runs.wait(run.run_id, signal);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

async function reportSteps(
  { runs }: HttpServices,
  run: Run,
  progress: NonNullable<Caller["progress"]>,
  signal: AbortSignal,
): Promise<void> {
  for await (const batch of runs.followBatches(run, -1, signal)) {
    for (const { event, data } of batch) {
      if (event !== "updates" || typeof data !== "object" || data === null) continue;
      await progress(Object.keys(data).join(", "));
    }
  }
}

/** The answers to all questions by id; `undefined` if a person leaves one open. */
async function askAll(
  { run_id }: Run,
  waiting: readonly Approval[],
  ask: NonNullable<Caller["ask"]>,
  language: Language,
): Promise<JsonObject | undefined> {
  const answers: JsonObject = {};
  for (const { interrupt_id, value } of waiting) {
    const question = readQuestion(value);
    const decision = await ask(`${run_id} ${interrupt_id}`, question, textOf(question, value, language));
    if (decision.kind === "left") return undefined;
    answers[interrupt_id] = decision.value;
  }
  return answers;
}

function textOf(question: Question, value: unknown, language: Language): string {
  const actions = question.actions.map(({ name, args }) => `${name}(${JSON.stringify(args)})`);
  const text = questionText(question, language) ?? (actions.length > 0 ? "May this be done?" : JSON.stringify(value));
  return [text, ...actions].join("\n");
}

function waitingResult(run: Run, waiting: readonly Approval[], language: Language): CallToolResult {
  const { session_id: thread_id, run_id } = run;
  const questions = waiting.map(({ interrupt_id, value }) => ({ interrupt_id, value }));
  const texts = waiting.map(({ value }) => textOf(readQuestion(value), value, language));
  const isAction = waiting.some(({ value }) => readQuestion(value).actions.length > 0);
  const example = isAction ? '{"decisions": [{"type": "approve"}]}' : '"the answer"';
  const how = `Waiting for an answer. Call this tool again with {"thread_id": "${thread_id}", "resume": ${example}}.`;
  return {
    content: [{ type: "text", text: [...texts, how].join("\n\n") }],
    structuredContent: { thread_id, run_id, status: "interrupted", interrupts: questions },
  };
}

const Reply = z.object({
  messages: z.array(z.looseObject({ type: z.string().optional(), content: z.unknown() })).min(1),
});
const TextPart = z.object({ type: z.literal("text"), text: z.string() });

async function resultOf(services: HttpServices, run: Run, language: Language): Promise<CallToolResult> {
  const { session_id: thread_id, run_id, status } = run;
  if (status === "error" || status === "timeout") {
    const failure = run.error ?? { error: "Error", message: `The run ended with ${status}` };
    const error = { message: failure.message, ...toWireRunError(failure, language) };
    return {
      isError: true,
      content: [{ type: "text", text: error.message }],
      structuredContent: { thread_id, run_id, status, error },
    };
  }
  const values = services.runs.lastValues(run) ?? (await readValues(services.storage, run.session_id));
  // The wire form of messages, as JSON makes it.
  const wireValues: JsonObject = z
    .record(z.string(), z.unknown())
    .catch({})
    .parse(JSON.parse(toWireJson(values ?? {})));
  const reply = replyOf(wireValues);
  return {
    content: [{ type: "text", text: reply ?? JSON.stringify(wireValues) }],
    structuredContent: { thread_id, run_id, status, ...(reply === undefined ? { values: wireValues } : { reply }) },
  };
}

/** The text of the last message, for graphs with messages. */
function replyOf(values: JsonObject): string | undefined {
  const last = Reply.safeParse(values).data?.messages.at(-1);
  if (last?.type !== "ai") return undefined;
  if (typeof last.content === "string") return last.content;
  const parts = z.array(z.unknown()).catch([]).parse(last.content);
  return parts.flatMap((part) => TextPart.safeParse(part).data?.text ?? []).join("");
}
