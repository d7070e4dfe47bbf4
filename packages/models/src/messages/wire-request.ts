import type { BaseMessage } from "@langchain/core/messages";
import { convertMessagesToCompletionsMessageParams } from "@langchain/openai";
import { z } from "zod";
import type { Config } from "@millrace/engine/config/config";
import { createModel, modelTarget, type ModelSources } from "../load-model.ts";
import type { ModelProfile } from "../registry/model-profile.ts";

/** A model request. */
export interface ModelCallRequest {
  /** `provider:name`. */
  model: string;
  temperature: number | null;
  thinking: boolean | null;
  max_tokens: number | null;
  tool_protocol: ModelProfile["tool_calls"] | null;
  forced_tool: string | null;
  messages: BaseMessage[];
  tools: readonly object[];
}

/** A request as sent to the server. */
export const WireRequest = z.looseObject({
  model: z.string(),
  messages: z.array(z.record(z.string(), z.unknown())),
  tools: z.array(z.record(z.string(), z.unknown())).optional(),
});
export type WireRequest = z.infer<typeof WireRequest>;

/** OpenAI's `/responses` calls the messages `input`. */
const Sent = z.looseObject({ input: z.unknown().optional() }).transform(({ input, ...request }) => ({
  ...(input === undefined ? {} : { messages: input }),
  ...request,
}));

/** Where a request goes, without its key. */
export const Endpoint = z.object({
  url: z.string(),
  messages_field: z.enum(["messages", "input"]).describe("What the body sent there calls `messages`"),
});

/** A request as sent, and where to. */
interface SentRequest {
  request: WireRequest;
  endpoint: z.infer<typeof Endpoint>;
}

/** Thrown instead of a network call. */
class NothingIsSent extends Error {}

/**
 * The exact request the provider's client would send, captured without a network. `undefined` for models without
 * requests, and for unavailable ones.
 */
export async function wireRequest(
  asked: ModelCallRequest,
  config: Config,
  sources: ModelSources,
): Promise<SentRequest | undefined> {
  let body: string | undefined;
  let url = "";
  const keep: typeof fetch = (target, init) => {
    if (typeof init?.body === "string") body = init.body;
    url = withoutSecrets(target instanceof Request ? target.url : String(target));
    return Promise.reject(new NothingIsSent("Only the request is looked at."));
  };
  try {
    const { temperature, thinking, max_tokens, tool_protocol } = asked;
    const options = {
      fetch: keep,
      ...(temperature === null ? {} : { temperature }),
      ...(thinking === null ? {} : { thinking }),
      ...(max_tokens === null ? {} : { maxTokens: max_tokens }),
      ...(tool_protocol === null ? {} : { toolProtocol: tool_protocol }),
    };
    const model = createModel(asked.model, options, config, sources);
    if (modelTarget(model)?.address === undefined) return undefined;
    const forced = asked.forced_tool === null ? {} : { tool_choice: asked.forced_tool };
    const bound = asked.tools.length === 0 ? {} : { tools: [...asked.tools], ...forced };
    // As in the loop's calls.
    await model._generate(asked.messages, bound);
  } catch {
    // Always fails, since nothing is sent; only the captured body matters.
  }
  if (body === undefined) return undefined;
  // Streaming options do not matter to the model.
  const sent: unknown = JSON.parse(body);
  const { stream: _stream, stream_options: _options, ...request } = Sent.pipe(WireRequest).parse(sent);
  const hasInput = typeof sent === "object" && sent !== null && "input" in sent;
  return { request, endpoint: { url, messages_field: hasInput ? "input" : "messages" } };
}

/** An address without the name, password and key that may be part of it. */
function withoutSecrets(address: string): string {
  const url = new URL(address);
  return `${url.origin}${url.pathname}`;
}

/** A request in OpenAI's format, for a model without a wire format. */
export function plainRequest({ model, messages, tools }: ModelCallRequest): WireRequest {
  const [, name = model] = /^[^:]*:(.*)$/u.exec(model) ?? [];
  return WireRequest.parse({
    model: name,
    messages: convertMessagesToCompletionsMessageParams({ messages, model: name }),
    ...(tools.length === 0 ? {} : { tools }),
  });
}
