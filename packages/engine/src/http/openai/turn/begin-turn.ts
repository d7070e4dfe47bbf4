import { createHash } from "node:crypto";
import { findAssistant } from "../../../graphs/load.ts";
import { readDecision } from "../../../sessions/questions/read-decision.ts";
import { readQuestion, resumeValue } from "../../../sessions/questions/questions.ts";
import { readMessages } from "../../../sessions/messages/conversation.ts";
import { inSession } from "../../../sessions/sessions.ts";
import type { Approval, Assistant, JsonObject, Run, Session } from "../../../storage/records.ts";
import type { NewTtl } from "../../../storage/record-stores.ts";
import type { Submission } from "../../../storage/storage.ts";
import type { HttpContext, HttpServices } from "../../environment.ts";
import { RunBody } from "../../requests/run-request.ts";
import { repeatedRun } from "../../requests/repeated.ts";
import { admitRun, requestOrigin, setPositionHeader } from "../../requests/runs.ts";
import { Id, sessionIdOf, sessionIdOfName, submissionOf } from "../../validate.ts";
import {
  afterAnswer,
  digestOf,
  type InputMessage,
  newMessages,
  toGraphMessages,
  type TurnEvent,
  wordsOf,
} from "./follow-turn.ts";
import { forbidRetries, OpenAiProblem } from "../problem.ts";
import { toHistory } from "../chat/chat-completion.ts";

/** How long an unnamed thread is kept: questions in it can be answered that long. */
const unnamedTtl: NewTtl = { minutes: 60, strategy: "delete" };

/** A client's request for a turn, from either API. */
export interface TurnRequest {
  model: string;
  messages: readonly InputMessage[];
  /** The messages are the whole conversation, part of which a thread may have; otherwise all are new. */
  isWhole: boolean;
  /** The thread named by the client, or that of the previous response. */
  thread: string | undefined;
  tools: { name: string; description?: string; parameters?: JsonObject }[];
  /** The client's model options that our own agent supports. */
  choices: JsonObject;
  /** All the client's model options, for other graphs. */
  parameters: JsonObject;
  metadata: JsonObject;
  /** The thread is kept although the client has not named it. */
  isKept: boolean;
}

/** A turn that has begun. */
export interface StartedTurn {
  run: Run;
  /** Without a named thread: the conversation up to this turn, by which it is found again. */
  unnamed: readonly InputMessage[] | undefined;
}

/** The assistant of a model name. Throws `model_not_found`, also for a graph without messages. */
export async function requireModel({ storage, runnable, graphs }: HttpServices, model: string): Promise<Assistant> {
  const byId = await findAssistant(runnable, graphs, model);
  const found = byId ?? (await assistantByName({ storage, graphs }, model));
  if (found === undefined) {
    throw new OpenAiProblem(
      "not_found",
      "model_not_found",
      `The model "${model}" does not exist. GET /v1/models lists them.`,
      "model",
    );
  }
  if (!hasMessages(graphs, found)) {
    const message = `The graph "${found.graph_id}" has no messages in its state, so it cannot be talked to. Use POST /runs.`;
    throw new OpenAiProblem("invalid_parameter", "unsupported_model", message, "model");
  }
  return found;
}

/** Whether a graph keeps messages. */
export function hasMessages(graphs: HttpServices["graphs"], { graph_id }: Pick<Assistant, "graph_id">): boolean {
  return "messages" in graphs.get(graph_id).channels;
}

async function assistantByName(
  { storage, graphs }: Pick<HttpServices, "storage" | "graphs">,
  name: string,
): Promise<Assistant | undefined> {
  const { assistants } = await storage.assistants.search({ name, limit: 100, offset: 0 }, graphs.assistants());
  const [only, another] = assistants.filter((assistant) => assistant.name === name);
  return another === undefined ? only : undefined;
}

/** Starts a turn: in its thread, in the one whose question it answers, or in a new one. */
export async function beginTurn(
  services: HttpServices,
  context: HttpContext,
  body: object,
  request: TurnRequest,
): Promise<StartedTurn> {
  const assistant = await requireModel(services, request.model);
  const submission = submissionOf(context, body);
  const { thread } = request;
  const isNamed = thread !== undefined;
  const start = async (session: Session): Promise<Run> => {
    const run = async (): Promise<RunBody> =>
      RunBody.parse({
        assistant_id: assistant.assistant_id,
        ...(await runInputOf(services, session, assistant, request)),
        metadata: request.metadata,
        // Updates contain whole messages and interrupts.
        stream_mode: ["messages-tuple", "updates", "custom"],
        multitask_strategy: "enqueue",
      });
    return await admitRun(services, session, run, { ...requestOrigin(context), submission, temporary: false });
  };
  const waiting = isNamed ? undefined : await waitingSession(services, request, submission);
  const wanted = isNamed
    ? { session_id: Id.safeParse(thread).data ?? sessionIdOfName(thread, services.owner) }
    : {
        session_id: submission && sessionIdOf(submission, services.owner),
        metadata: markOf(submission),
        ttl: request.isKept ? undefined : unnamedTtl,
      };
  const run = waiting === undefined ? await inSession(services, wanted, start) : await start(waiting);
  if (submission === undefined) forbidRetries(context);
  await setPositionHeader(services, context, run);
  return { run, unnamed: !isNamed && request.isWhole ? request.messages : undefined };
}

/** An entry in the metadata of a thread by which a repeated request finds it; of two keys neither loses its own. */
function markOf(submission: Submission | undefined): JsonObject {
  if (submission === undefined) return {};
  return { [`openai_key_${createHash("sha256").update(submission.key).digest("hex")}`]: "used" };
}

/** The thread that waits after this conversation's last answer, or did so when a request under this key answered. */
async function waitingSession(
  services: HttpServices,
  request: TurnRequest,
  submission: Submission | undefined,
): Promise<Session | undefined> {
  const { sessions: store } = services.storage;
  const fresh = afterAnswer(request.messages);
  if (!request.isWhole || fresh.length === request.messages.length) return undefined;
  const openai_waits = digestOf(request.messages.slice(0, request.messages.length - fresh.length));
  const metadata = { openai_waits };
  const [waiting] = (await store.search({ metadata, status: "interrupted", limit: 1, offset: 0 })).sessions;
  if (submission === undefined) return waiting;
  // Searched last: a request under the same key that takes up the waiting thread meanwhile has marked it before.
  const marked = await store.search({ metadata: markOf(submission), limit: 20, offset: 0 });
  for (const session of marked.sessions) {
    if ((await repeatedRun(services, session.session_id, submission)) !== undefined) return session;
  }
  if (waiting !== undefined) await store.update(waiting.session_id, { metadata: markOf(submission), keepsTime: true });
  return waiting;
}

/** The input of the run: an answer to a waiting question, or the messages new to the thread. */
async function runInputOf(
  services: HttpServices,
  session: Session,
  assistant: Assistant,
  request: TurnRequest,
): Promise<JsonObject> {
  const { storage, graphs } = services;
  const isOwn = graphs.hasLoop(graphs.get(assistant.graph_id));
  const settings = isOwn
    ? { context: ownContext(request) }
    : { config: { configurable: { openai: request.parameters } } };
  const pending = session.status === "interrupted" ? await storage.approvals.pending(session.session_id) : [];
  const fresh = request.isWhole ? afterAnswer(request.messages) : request.messages;
  const resume = answersTo(pending, fresh);
  if (Object.keys(resume).length > 0) return { command: { resume }, ...settings };
  const known = await readMessages(storage, session.session_id);
  const added = known.length === 0 || !request.isWhole ? request.messages : newMessages(request.messages, known);
  if (isOwn && known.length > 0 && added.some(({ role }) => role === "tool")) {
    const message =
      "No such tool call waits in this conversation: it has its result, or was given up for another message.";
    throw new OpenAiProblem("invalid_parameter", "tool_call_not_waiting", message, "messages");
  }
  // Our own agent takes the system text per turn, not as a message.
  const messages = isOwn ? added.filter(({ role }) => role !== "system") : added;
  return { input: { messages: toGraphMessages(messages) }, ...settings };
}

/**
 * The answers in new messages: results of the client's calls, and plain text for the oldest question of another kind.
 */
function answersTo(pending: readonly Approval[], fresh: readonly InputMessage[]): JsonObject {
  const answers: JsonObject = {};
  const isCall = ({ value }: Approval): boolean => readQuestion(value).kind === "client_tool";
  for (const message of fresh) {
    if (message.role !== "tool") continue;
    const call = pending.find((one) => isCall(one) && callIdOf(one) === message.call);
    if (call !== undefined) answers[call.interrupt_id] = wordsOf(message).trim() || "(no output)";
  }
  const userMessages = fresh.filter(({ role }) => role === "user");
  const [question] = pending.filter((one) => !isCall(one));
  const [only] = userMessages;
  if (question === undefined || only === undefined || userMessages.length > 1) return answers;
  const answer = answerOf(question, wordsOf(only).trim());
  return answer === undefined ? answers : { ...answers, [question.interrupt_id]: answer };
}

function callIdOf({ value }: Approval): unknown {
  return typeof value === "object" && value !== null && "tool_call_id" in value ? value.tool_call_id : undefined;
}

/** Only a plain yes or no answers a question about an action; anything else is a new request. */
function answerOf({ value }: Approval, words: string): unknown {
  const question = readQuestion(value);
  if (words === "") return undefined;
  if (question.actions.length === 0) return words;
  const { kind } = readDecision(words);
  return kind === "approve" || kind === "reject" ? resumeValue(question, { type: kind }) : undefined;
}

function ownContext({ messages, tools, choices }: TurnRequest): JsonObject {
  const system = messages
    .filter(({ role }) => role === "system")
    .map((message) => wordsOf(message))
    .join("\n\n")
    .trim();
  return {
    ...choices,
    ...(system === "" ? {} : { system }),
    // The client's tools are for work: skip the model call that would classify the request.
    ...(tools.length === 0 ? {} : { client_tools: tools, mode: "free_work" }),
  };
}

/** Records on an unnamed thread after which answer it waits, so that the client's next request finds the thread. */
export async function recordWaiting(
  { storage, logger }: Pick<HttpServices, "storage" | "logger">,
  { run, unnamed }: StartedTurn,
  events: readonly TurnEvent[],
): Promise<void> {
  const last = events.at(-1);
  if (unnamed === undefined || last === undefined || !("end" in last)) return;
  if (last.end.questions.length + last.end.calls.length === 0) return;
  const openai_waits = digestOf([...unnamed, toHistory(events)]);
  // The turn is over: its client must get the answer, also a caller whose rules forbid the note.
  await storage.sessions.update(run.session_id, { metadata: { openai_waits } }).catch((error: unknown) => {
    logger.warn({ err: error, session_id: run.session_id }, "openai_waits_not_kept");
  });
}
