import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import type { JsonObject } from "../../../storage/records.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
} from "../../environment.ts";
import { answerJson } from "../../answers/json.ts";
import { beginTurn, type BegunTurn, type TurnRequest } from "../turn/begin-turn.ts";
import { noteWaiting } from "../turn/note-waiting.ts";
import { ChatCompletionBody, chatMessages, chatTools } from "./chat-body.ts";
import { ChatCompletion, createChunks, toChatCompletion } from "./chat-completion.ts";
import { choicesOf } from "./choices.ts";
import { cancelsOnLeave, streamTurn, wholeTurn, type TurnEvent } from "../turn/follow-turn.ts";
import { answerFailedRun } from "../problem.ts";
import { openAiBody, starting } from "../route.ts";

/** `/v1/chat/completions`: any assistant with messages as a model. */
export function chatCompletionRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.post(
    "/v1/chat/completions",
    describe({
      tag: "OpenAI",
      summary: "Chat with an assistant; with `stream` as server-sent events",
      answer: ChatCompletion,
      ...starting,
    }),
    openAiBody(ChatCompletionBody),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const turn = await beginTurn(services, context, body, toTurnRequest(context, body));
      return body.stream === true
        ? streamChat(services, context, turn, body)
        : answerChat(services, context, turn, body);
    },
  );
  return routes;
}

function toTurnRequest(context: HttpContext, body: ChatCompletionBody): TurnRequest {
  const { messages: _messages, model, stream: _stream, stream_options: _options, metadata, ...parameters } = body;
  const named = context.req.header("x-thread-id") ?? metadata?.["thread_id"];
  const max_tokens = body.max_completion_tokens ?? body.max_tokens;
  return {
    model,
    messages: chatMessages(body),
    isWhole: true,
    thread: named === undefined || named === "" ? undefined : String(named),
    tools: body["tool_choice"] === "none" ? [] : chatTools(body),
    choices: choicesOf({ temperature: body.temperature, max_tokens, effort: body.reasoning_effort }),
    parameters,
    metadata: { ...metadata } satisfies JsonObject,
    isKept: false,
  };
}

function streamChat(services: HttpServices, context: HttpContext, turn: BegunTurn, body: ChatCompletionBody): Response {
  const write = createChunks(body.model, turn.run, { usage: body.stream_options?.include_usage === true });
  const told: TurnEvent[] = [];
  return streamTurn(services, context, turn.run, {
    frame: write,
    onItems: (events) => told.push(...events),
    onEnd: () => noteWaiting(services, turn, told),
    cancels: cancelsOnLeave(context),
  });
}

async function answerChat(
  services: HttpServices,
  context: HttpContext,
  turn: BegunTurn,
  body: ChatCompletionBody,
): Promise<Response> {
  const events = await wholeTurn(services, context, turn.run, cancelsOnLeave(context));
  if (events === undefined) return RESPONSE_ALREADY_SENT;
  const last = events.at(-1);
  if (last !== undefined && "end" in last && last.end.error !== undefined)
    return answerFailedRun(context, last.end.error);
  await noteWaiting(services, turn, events);
  context.header("x-thread-id", turn.run.session_id);
  return answerJson(context, toChatCompletion(events, body.model) ?? null);
}
