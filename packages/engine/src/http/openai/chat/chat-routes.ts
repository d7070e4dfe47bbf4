import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import { type Assistant, JsonObject } from "../../../storage/records.ts";
import { describe } from "../../describe.ts";
import {
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
  servicesOf,
  type SharedServices,
} from "../../environment.ts";
import { respondJson } from "../../responses/wire.ts";
import {
  beginTurn,
  type StartedTurn,
  hasMessages,
  recordWaiting,
  requireModel,
  type TurnRequest,
} from "../turn/begin-turn.ts";
import { ChatCompletion, createChunks, toChatCompletion } from "./chat-completion.ts";
import {
  cancelsOnLeave,
  FunctionName,
  type InputMessage,
  Metadata,
  ModelName,
  streamTurn,
  type TurnEvent,
  wholeTurn,
  withoutLost,
} from "../turn/follow-turn.ts";
import { respondFailedRun, failing, openAiBody, starting } from "../problem.ts";
import { z } from "zod";

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

function streamChat(
  services: HttpServices,
  context: HttpContext,
  turn: StartedTurn,
  body: ChatCompletionBody,
): Response {
  const write = createChunks(body.model, turn.run, { usage: body.stream_options?.include_usage === true });
  const received: TurnEvent[] = [];
  return streamTurn(services, context, turn.run, {
    frame: write,
    // What was sent cannot be taken back, what was not need not be sent.
    tidy: withoutLost,
    onItems: (events) => received.push(...events),
    onEnd: () => recordWaiting(services, turn, received),
    cancels: cancelsOnLeave(context),
  });
}

async function answerChat(
  services: HttpServices,
  context: HttpContext,
  turn: StartedTurn,
  body: ChatCompletionBody,
): Promise<Response> {
  const events = await wholeTurn(services, context, turn.run, cancelsOnLeave(context));
  if (events === undefined) return RESPONSE_ALREADY_SENT;
  const last = events.at(-1);
  if (last !== undefined && "end" in last && last.end.error !== undefined)
    return respondFailedRun(context, last.end.error);
  await recordWaiting(services, turn, events);
  context.header("x-thread-id", turn.run.session_id);
  return respondJson(context, toChatCompletion(events, body.model) ?? null);
}

const Text = z.string();
const TextPart = z.looseObject({ type: z.enum(["text", "refusal"]), text: Text.optional(), refusal: Text.optional() });
const ImagePart = z.looseObject({
  type: z.literal("image_url"),
  image_url: z.looseObject({ url: Text, detail: Text.optional() }),
});
const AudioPart = z.looseObject({
  type: z.literal("input_audio"),
  input_audio: z.looseObject({ data: Text, format: Text }),
});
const FilePart = z.looseObject({
  type: z.literal("file"),
  file: z.looseObject({ file_data: Text.optional(), file_id: Text.optional(), filename: Text.optional() }),
});
const Part = z.discriminatedUnion("type", [TextPart, ImagePart, AudioPart, FilePart]);
const Content = z.union([Text, z.array(Part)]).nullish();

const ToolCall = z.looseObject({ id: Text, function: z.looseObject({ name: Text, arguments: Text }) });

const ChatMessage = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content: Content }),
  z.looseObject({ role: z.literal("user"), content: Content, name: Text.optional() }),
  z.looseObject({ role: z.literal("assistant"), content: Content, tool_calls: z.array(ToolCall).nullish() }),
  z.looseObject({ role: z.literal("tool"), content: Content, tool_call_id: Text }),
]);
type ChatMessage = z.infer<typeof ChatMessage>;

const FunctionTool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({ name: FunctionName, description: Text.nullish(), parameters: JsonObject.nullish() }),
});

/** The body of `POST /v1/chat/completions`; OpenAI's other fields are accepted and ignored. */
const ChatCompletionBody = z
  .looseObject({
    model: ModelName,
    messages: z.array(ChatMessage).min(1).max(20_000),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    tools: z.array(FunctionTool).max(128).nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    max_tokens: z.number().int().min(1).nullish(),
    max_completion_tokens: z.number().int().min(1).nullish(),
    reasoning_effort: z.string().nullish(),
    metadata: Metadata,
    n: z.literal(1, { error: "expected 1: a graph gives one answer" }).nullish(),
  })
  .meta({ ref: "ChatCompletionCreate" });
type ChatCompletionBody = z.infer<typeof ChatCompletionBody>;

/** The client's tools in the form that all routes share. */
function chatTools({ tools }: ChatCompletionBody): { name: string; description?: string; parameters?: JsonObject }[] {
  return (tools ?? []).map(({ function: { name, description, parameters } }) => ({
    name,
    ...(description ? { description } : {}),
    ...(parameters ? { parameters } : {}),
  }));
}

/** The messages in the form that all routes share. */
function chatMessages({ messages }: ChatCompletionBody): InputMessage[] {
  return messages.map((message): InputMessage => {
    const content = contentOf(message);
    switch (message.role) {
      case "system":
      case "developer":
        return { role: "system", content };
      case "user":
        return { role: "user", content };
      case "assistant":
        return {
          role: "assistant",
          content,
          calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({ id, name, args })),
        };
      case "tool":
        return { role: "tool", content, call: message.tool_call_id };
    }
  });
}

function contentOf({ content }: ChatMessage): InputMessage["content"] {
  if (content === undefined || content === null) return "";
  return typeof content === "string" ? content : content.map(toBlock);
}

/** A part of a message as a content block of LangChain. */
function toBlock(part: z.infer<typeof Part>): JsonObject {
  switch (part.type) {
    case "text":
    case "refusal":
      return { type: "text", text: part.text ?? part.refusal ?? "" };
    case "image_url":
      return { type: "image_url", image_url: part.image_url };
    case "input_audio": {
      const { data, format } = part.input_audio;
      return { type: "audio", source_type: "base64", data, mime_type: `audio/${format}` };
    }
    case "file": {
      const { file_data, file_id, filename } = part.file;
      const metadata = filename === undefined ? {} : { metadata: { filename } };
      if (file_data === undefined) return { type: "file", source_type: "id", id: file_id ?? "", ...metadata };
      const [, mime_type = "application/octet-stream", data = file_data] =
        /^data:([^;,]+);base64,(.*)$/su.exec(file_data) ?? [];
      return { type: "file", source_type: "base64", data, mime_type, ...metadata };
    }
  }
}

/** A client's model options that our own agent supports. */
interface ModelChoices {
  temperature?: number | null | undefined;
  max_tokens?: number | null | undefined;
  /** The reasoning effort. */
  effort?: string | null | undefined;
}

/** The options as a run's context. */
export function choicesOf({ temperature, max_tokens, effort }: ModelChoices): JsonObject {
  return {
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof max_tokens === "number" && { max_tokens: Math.min(max_tokens, 1_000_000) }),
    ...(typeof effort === "string" && { thinking: effort !== "none" && effort !== "minimal" }),
  };
}

const Model = z
  .object({
    id: z.string(),
    object: z.literal("model"),
    created: z.number().int(),
    owned_by: z.string(),
    name: z.string().describe("As people know it; a request may say it where no other assistant bears it"),
    description: z.string().nullable(),
  })
  .meta({ ref: "OpenAiModel" });

const ModelList = z.object({ object: z.literal("list"), data: z.array(Model) });

/** Assistants listed: chat programs show them in a menu. */
const maxModels = 1_000;

/** `/v1/models`: the assistants the caller may see, as models to talk to. */
export function modelListRoutes(services: SharedServices): HttpApp {
  const { graphs } = services;
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/v1/models",
    describe({ tag: "OpenAI", summary: "Assistants as models", answer: ModelList, ...failing }),
    async (context) => {
      const { storage } = servicesOf(context);
      const { assistants } = await storage.assistants.search({ limit: maxModels, offset: 0 }, graphs.assistants());
      const served = new Set(graphs.ids());
      const data = assistants.filter((one) => served.has(one.graph_id) && hasMessages(graphs, one)).map(toModel);
      return respondJson(context, { object: "list", data } satisfies z.infer<typeof ModelList>);
    },
  );

  routes.get(
    "/v1/models/:model",
    describe({ tag: "OpenAI", summary: "An assistant as a model", answer: Model, ...failing }),
    async (context) =>
      respondJson(context, toModel(await requireModel(servicesOf(context), context.req.param("model")))),
  );
  return routes;
}

/** Default assistants of graphs are named after their graph. */
function toModel({
  assistant_id,
  graph_id,
  is_system,
  name,
  description,
  created_at,
}: Assistant): z.infer<typeof Model> {
  return {
    id: is_system ? graph_id : assistant_id,
    object: "model",
    created: Math.floor(Date.parse(created_at) / 1000),
    owned_by: "millrace",
    name,
    description,
  };
}
