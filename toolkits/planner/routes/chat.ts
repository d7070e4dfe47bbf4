import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { interruptedRun } from "@millrace/engine/runs/admission/executed-runs";
import { messagesIn } from "@millrace/engine/sessions/messages/conversation";
import { LlmMetadata } from "@millrace/engine/sessions/messages/message-fields";
import { readQuestion } from "@millrace/engine/sessions/questions/questions";
import { inSession, readValues, requireSession } from "@millrace/engine/sessions/sessions";
import type { Run, Session } from "@millrace/engine/storage/records";
import { ChatUsage, wholeAnswer, type ChatEvent } from "./chat-answer.ts";
import { chatFrame, createChatReader, questionItem, type ChatItem } from "./chat-items.ts";
import { ChatBody, toRunBody, type ChatPlace } from "./chat-request.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { routeServicesOf, toolsOfCaller, type RouteServices } from "../../../src/toolkits/route-services.ts";
import { notFound } from "@millrace/engine/http/errors";
import { frameLength, gapFrame } from "@millrace/engine/http/responses/frames";
import { respondJson, languageOf, namedLanguage } from "@millrace/engine/http/responses/wire";
import { questionText } from "@millrace/engine/http/requests/thread";
import {
  admitRun,
  requestOrigin,
  cancelAfterDisconnect,
  lastEventId,
  setPositionHeader,
} from "@millrace/engine/http/requests/runs";
import { sendEvents } from "@millrace/engine/http/responses/sse";
import type { RunBody } from "@millrace/engine/http/requests/run-request";
import { Id, jsonBody, path, sessionIdOf, submissionOf } from "@millrace/engine/http/validate";

const ChatAnswer = z
  .object({ reply: z.string(), usage: ChatUsage, model: z.string(), response_time_ms: z.number().int() })
  .meta({ ref: "ChatAnswer" });

const tag = "Chat";
const starting = {
  headers: ["Idempotency-Key"],
  setsPositionHeader: true,
  errors: {
    404: "No such thread or assistant",
    422: "The Idempotency-Key came with another request",
    429: "Too many runs wait; Retry-After says when to come back",
  },
} as const;

/** `/api/ai/chat`: a conversation with two response formats, based on ordinary runs. */
export function chatRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.post(
    "/api/ai/chat/stream",
    describe({
      tag,
      summary: "Say something and follow the answer: message, tool, question, error, done",
      events: true,
      ...starting,
    }),
    jsonBody(ChatBody),
    async (context) => {
      const body = context.req.valid("json");
      if (body.stream === false)
        throw wrongStream("stream is false: an answer in one piece comes from POST /api/ai/chat.");
      const run = await startChat(context, body);
      return streamChat(context, run, { after: -1, cancels: body.on_disconnect === "cancel" });
    },
  );

  routes.get(
    "/api/ai/chat/stream/:run_id",
    describe({
      tag,
      summary: "Follow an answer again, from Last-Event-ID on",
      events: true,
      headers: ["Last-Event-ID"],
      errors: { 404: "No such answer" },
    }),
    path(z.object({ run_id: Id })),
    async (context) => {
      const run = await routeServicesOf(context).runs.get(context.req.valid("param").run_id);
      if (run === undefined) throw notFound("Run not found");
      return streamChat(context, run, { after: lastEventId(context), cancels: false });
    },
  );

  routes.post(
    "/api/ai/chat",
    describe({ tag, summary: "Say something and wait for the answer", answer: ChatAnswer, ...starting }),
    jsonBody(ChatBody),
    async (context) => {
      const services = routeServicesOf(context);
      const body = context.req.valid("json");
      if (body.stream === true) throw wrongStream("stream is true: a stream comes from POST /api/ai/chat/stream.");
      const startedAt = performance.now();
      const run = await startChat(context, body);
      setPlaceHeaders(context, run);
      const answer = await wholeAnswer(context, {
        events: (signal) => chatEvents(services, context, run, signal),
        ...(body.on_disconnect === "cancel" && { onDisconnect: () => cancelAfterDisconnect(services, run) }),
      });
      if (answer === undefined) return RESPONSE_ALREADY_SENT;
      const model = await modelOf(services, run);
      const response_time_ms = Math.round(performance.now() - startedAt);
      return respondJson(context, { ...answer, model, response_time_ms } satisfies z.infer<typeof ChatAnswer>);
    },
  );
  return routes;
}

function wrongStream(message: string): AppError {
  return new AppError("invalid_parameter", message, { suggestion: "Send it there, or leave stream out." });
}

/** Starts a chat's run: in the named conversation, or in a new one, which is kept. */
async function startChat(context: HttpContext, body: ChatBody): Promise<Run> {
  const services = routeServicesOf(context);
  const { storage, owner } = services;
  const submission = submissionOf(context, body);
  const start = async (session: Session): Promise<Run> => {
    const run = async (): Promise<RunBody> => toRunBody(body, await placeOf(services, session, body));
    return await admitRun(services, session, run, { ...requestOrigin(context), submission });
  };
  const run = body.thread_id
    ? await start(await requireSession(storage, body.thread_id))
    : await inSession(services, { session_id: submission && sessionIdOf(submission, owner) }, start);
  await setPositionHeader(services, context, run);
  return run;
}

async function placeOf(services: RouteServices, session: Session, body: ChatBody): Promise<ChatPlace> {
  const { storage, runs } = services;
  const { session_id } = session;
  const isKnown = body.thread_id !== null && body.thread_id !== undefined;
  const [waiting] = isKnown && session.status === "interrupted" ? await storage.approvals.pending(session_id) : [];
  const hasHistory = isKnown && (await runs.list(session_id, { limit: 1, offset: 0 })).length > 0;
  const allowed = toolsOfCaller(services);
  const toolkits = services.toolkits.filter(({ tools }) => tools.some(({ name }) => allowed?.has(name) ?? true));
  return { hasHistory, waiting, toolkits };
}

/** Sets headers for following the answer again and for continuing the conversation. */
function setPlaceHeaders(context: HttpContext, run: Run): void {
  for (const [name, value] of Object.entries(placeHeaders(run))) context.header(name, value);
}

function placeHeaders({ session_id, run_id }: Run): Record<string, string> {
  return {
    "x-thread-id": session_id,
    "content-location": `/threads/${session_id}/runs/${run_id}`,
    location: `/api/ai/chat/stream/${run_id}`,
  };
}

async function streamChat(
  context: HttpContext,
  run: Run,
  { after, cancels }: { after: number; cancels: boolean },
): Promise<Response> {
  const services = routeServicesOf(context);
  const gap = await services.runs.findGap(run, after);
  const read = createChatReader(languageOf(context));
  const from = gap?.after ?? after;
  return sendEvents<ChatEvent>(context, {
    ...(gap && { opening: gapFrame(gap) }),
    // A model may think for long before its first token.
    mayBeQuiet: true,
    // From the beginning: whether an event is new depends on the message's earlier parts.
    open: (signal) => chatEvents(services, context, run, signal),
    tail: async function* (signal) {
      for await (const batch of services.runs.tail(run, signal)) yield batch.map((event) => ({ event }));
    },
    measure: (item) => ("event" in item ? frameLength(item.event, {}) : 0),
    frame: (item) => {
      if ("last" in item) return item.last.map((one) => chatFrame(one)).join("");
      const chatItem = read(item.event);
      return chatItem === undefined || item.event.id <= from ? "" : chatFrame(chatItem, item.event.id);
    },
    headers: placeHeaders(run),
    logger: services.logger,
    ...(cancels && { onDisconnect: () => cancelAfterDisconnect(services, run) }),
  });
}

async function* chatEvents(
  services: RouteServices,
  context: HttpContext,
  run: Run,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent[]> {
  let hasFailed = false;
  for await (const batch of services.runs.followBatches(run, -1, signal)) {
    hasFailed ||= batch.some(({ event }) => event === "error");
    yield batch.map((event) => ({ event }));
  }
  if (!hasFailed) yield [{ last: [...(await questionsOf(services, context, run)), { type: "done" }] }];
}

/** Open questions as text, for clients without support for questions. */
async function questionsOf({ storage, runs }: RouteServices, context: HttpContext, run: Run): Promise<ChatItem[]> {
  const waiting = await storage.approvals.pending(run.session_id);
  if (waiting.length === 0) return [];
  // A repeated read of an answer excludes questions of later ones.
  const asking = await interruptedRun(runs, run.session_id);
  if (asking?.run_id !== run.run_id) return [];
  return waiting.flatMap(({ interrupt_id, value }): ChatItem[] => {
    const asked = readQuestion(value);
    const question = questionText(asked, namedLanguage(context)) ?? "";
    return [{ type: "text", content: `\n\n${question}` }, questionItem(interrupt_id, asked, question)];
  });
}

/** The model that answered; if no message says so, the configured one. */
async function modelOf({ storage, models }: RouteServices, run: Run): Promise<string> {
  const messages = messagesIn(await readValues(storage, run.session_id));
  const reply = messages.findLast(({ additional_kwargs }) => additional_kwargs["llm_metadata"] !== undefined);
  const { model_name } = LlmMetadata.safeParse(reply?.additional_kwargs["llm_metadata"]).data ?? {};
  const chosen = run.kwargs.context?.["model"];
  return model_name ?? (typeof chosen === "string" ? chosen : models.roles().main);
}
