import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import { AgentCard } from "@a2a-js/sdk";
import { JsonRpcTransportHandler, ServerCallContext, validateVersion } from "@a2a-js/sdk/server";
import { z } from "zod";
import type { RunEvent } from "../../run-events.ts";
import { type Assistant, JsonObject } from "../../storage/records.ts";
import { type HttpContext, type HttpServices, versions } from "../environment.ts";
import { frameLength } from "../responses/frames.ts";
import { answerBody, respondJson } from "../responses/wire.ts";
import { lastEventId, setPositionHeader } from "../requests/runs.ts";
import { sendEvents, sendWhenReady } from "../responses/sse.ts";
import { A2aHandler, holdsMessages } from "./handler.ts";

/** The version of clients that send none: the older one had no header for it. */
const olderVersion = "0.3";
const Method = z.object({ method: z.string() });
const waitingMethods = new Set(["message/send", "SendMessage"]);
const subscribingMethods = new Set(["tasks/resubscribe", "SubscribeToTask"]);

function versionOf(context: HttpContext): string {
  return context.req.header("a2a-version") || olderVersion;
}

function cardOf(services: HttpServices, context: HttpContext, assistant: Assistant): AgentCard {
  return agentCard(assistant, {
    origin: new URL(context.req.url).origin,
    hasMessages: holdsMessages(services, assistant),
    asksForKey: services.config.apiKeys.length > 0,
    version: versions.millrace,
  });
}

/** Sends an assistant's card, in the version that the client asks for. */
export async function respondCard(
  services: HttpServices,
  context: HttpContext,
  assistant: Assistant,
): Promise<Response> {
  const card = cardOf(services, context, assistant);
  context.header("Vary", "A2A-Version", { append: true });
  if (versionOf(context) !== olderVersion) return respondJson(context, AgentCard.toJSON(card));
  const request = { services, context, assistant, card, signal: AbortSignal.abort(), after: -1 };
  const older = new LegacyJsonRpcTransportHandler(new A2aHandler(request));
  const cardRequest = { jsonrpc: "2.0", id: 1, method: "agent/getAuthenticatedExtendedCard" };
  const response = z
    .looseObject({ result: z.looseObject({}) })
    .parse(await older.handle(cardRequest, new ServerCallContext()));
  // Clients of the newer version that send no version header need their interface, too.
  return respondJson(context, { ...response.result, supportedInterfaces: card.supportedInterfaces });
}

/** Answers a JSON-RPC request to an assistant: once its run is over, or with a stream of its events. */
export async function respondRpc(
  services: HttpServices,
  context: HttpContext,
  assistant: Assistant,
  body: unknown,
): Promise<Response> {
  const gone = new AbortController();
  const method = Method.safeParse(body).data?.method ?? "";
  // The library rejects requests that are not objects.
  const request = JsonObject.safeParse(body).data ?? {};
  const handler = new A2aHandler({
    services,
    context,
    assistant,
    card: cardOf(services, context, assistant),
    signal: gone.signal,
    after: subscribingMethods.has(method) ? lastEventId(context) : -1,
  });
  const ask = async (): Promise<unknown> => {
    const answer = await rpcAnswer(context, handler, request);
    if (handler.failure !== undefined) throw handler.failure;
    return answer;
  };
  if (waitingMethods.has(method)) {
    return await sendWhenReady(context, {
      work: async (signal) => {
        signal.addEventListener("abort", () => gone.abort(signal.reason), { once: true });
        return JSON.stringify(await ask());
      },
      headers: {},
      logger: services.logger,
    });
  }
  const answer = await ask();
  return isStream(answer)
    ? await streamAnswer(services, context, { handler, answer, gone, id: request["id"] ?? null })
    : rpcJson(context, answer);
}

function rpcJson(context: HttpContext, answer: unknown): Response {
  return answerBody(context, JSON.stringify(answer), "application/json");
}

async function rpcAnswer(context: HttpContext, handler: A2aHandler, body: JsonObject): Promise<unknown> {
  const requestedVersion = versionOf(context);
  const call = new ServerCallContext({ requestedVersion });
  if (requestedVersion === olderVersion) return await new LegacyJsonRpcTransportHandler(handler).handle(body, call);
  try {
    validateVersion(requestedVersion, await handler.getAgentCard(), "JSONRPC");
  } catch (error) {
    return { jsonrpc: "2.0", id: body["id"] ?? null, error: errorOf(context, error) };
  }
  return await new JsonRpcTransportHandler(handler).handle(body, call);
}

function isStream(answer: unknown): answer is AsyncGenerator<object, void, undefined> {
  return typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
}

type StreamItem = { id: number; text: string } | { event: RunEvent };

/** What cannot start is answered as JSON: the stream begins with the task. */
async function streamAnswer(
  services: HttpServices,
  context: HttpContext,
  {
    handler,
    answer,
    gone,
    id,
  }: { handler: A2aHandler; answer: AsyncGenerator<object, void, undefined>; gone: AbortController; id: unknown },
): Promise<Response> {
  let first: IteratorResult<object, void>;
  try {
    first = await answer.next();
  } catch (thrown) {
    if (handler.failure !== undefined) throw handler.failure;
    return rpcJson(context, { jsonrpc: "2.0", id, error: errorOf(context, thrown) });
  }
  const { followed } = handler;
  if (followed !== undefined) await setPositionHeader(services, context, followed);
  return sendEvents<StreamItem>(context, {
    // A model may think for long before its first token.
    mayBeQuiet: true,
    async *open(signal) {
      signal.addEventListener("abort", () => gone.abort(signal.reason), { once: true });
      try {
        for (let event = first; event.done !== true; event = await answer.next()) {
          yield [{ id: handler.lastEvent, text: JSON.stringify(event.value) }];
        }
      } finally {
        // A reader that is too slow ends this before the run ends: nothing else would stop following it.
        await answer.return();
      }
    },
    tail: async function* (signal) {
      if (followed === undefined) return;
      for await (const batch of services.runs.tail(followed, signal)) yield batch.map((event) => ({ event }));
    },
    measure: (item) => ("event" in item ? frameLength(item.event, { modes: ["messages-tuple"] }) : 0),
    frame: (item) => ("text" in item ? `${item.id < 0 ? "" : `id: ${item.id}\n`}data: ${item.text}\n\n` : ""),
    headers: {},
    logger: services.logger,
  });
}

function errorOf(context: HttpContext, thrown: unknown): object {
  return versionOf(context) === olderVersion
    ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError(thrown)
    : JsonRpcTransportHandler.mapToJSONRPCError(thrown);
}

/** What an agent card depends on besides the assistant. */
interface CardPlace {
  /** The origin under which the client reached the server. */
  origin: string;
  hasMessages: boolean;
  /** Whether callers need a key. */
  asksForKey: boolean;
  version: string;
}

/** The agent card of an assistant. One address serves both versions of the protocol. */
export function agentCard(assistant: Assistant, { origin, hasMessages, asksForKey, version }: CardPlace): AgentCard {
  const url = `${origin}/a2a/${encodeURIComponent(assistant.assistant_id)}`;
  const json = "application/json";
  const modes = hasMessages ? ["text/plain", json] : [json];
  const description =
    assistant.description ??
    (hasMessages
      ? `The assistant ${assistant.name}. It takes messages, and answers with text.`
      : `The assistant ${assistant.name}. Its graph has no messages: it takes a data part with its input, and gives one.`);
  const requirement = { schemes: { apiKey: { list: [] } } };
  return {
    name: assistant.name,
    description,
    supportedInterfaces: ["1.0", "0.3"].map((protocolVersion) => ({
      url,
      protocolBinding: "JSONRPC",
      tenant: "",
      protocolVersion,
    })),
    provider: undefined,
    version,
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: asksForKey
      ? {
          apiKey: {
            scheme: {
              $case: "apiKeySecurityScheme",
              value: { description: "A key of this server", location: "header", name: "X-Api-Key" },
            },
          },
        }
      : {},
    securityRequirements: asksForKey ? [requirement] : [],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: [
      {
        id: `${assistant.graph_id}-main`,
        name: assistant.name,
        description,
        tags: ["langgraph", assistant.graph_id],
        examples: [],
        inputModes: modes,
        outputModes: modes,
        securityRequirements: [],
      },
    ],
    signatures: [],
  };
}
