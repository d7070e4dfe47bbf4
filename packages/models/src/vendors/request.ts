import { isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { isAnswerBeginning } from "../messages/answer-beginning.ts";
import { placeOfRequest } from "../messages/note-message.ts";
import { callDefaults, thinksFirst } from "../call-defaults.ts";
import type { ModelProfile } from "../registry/model-profile.ts";
import type { ModelOptions } from "../provider.ts";
import { vendorSearchTool } from "./found-pages.ts";
import type { Quirks } from "./quirks.ts";

/** A message on the wire. */
export interface SentMessage {
  role: string;
  content?: unknown;
}

/** The fields of a request in which vendors differ. */
export interface SentRequest {
  messages: readonly SentMessage[];
  stream?: boolean | null;
  tools?: readonly object[] | undefined;
  tool_choice?: unknown;
  response_format?: unknown;
  temperature?: number | null | undefined;
  max_tokens?: number | null | undefined;
  think?: boolean;
}

/** The target model and the run's options. */
export interface VendorContext {
  quirks: Quirks;
  profile: ModelProfile;
  options: ModelOptions;
}

/** Converts a request for this vendor; `messages` are its source. The original is unchanged. */
export function vendorRequest(
  request: SentRequest,
  messages: readonly BaseMessage[],
  context: VendorContext,
): SentRequest {
  const { quirks, profile, options } = context;
  const wanted = thinksFirst(profile, options);
  const thinks = wanted && (profile.thinking === "always" || mayThink(request, quirks));
  return {
    ...withSearch(withForcedTool(request, thinks, quirks), isForced(request.tool_choice), context),
    ...(wanted && !thinks ? unthinking(context) : {}),
    ...temperatureOf(wanted === thinks ? request.temperature : unthinking(context).temperature, thinks, quirks),
    ...thinkingOf(thinks, context),
    messages: withBeginning(
      withReasoning(request.messages, messages, thinks ? quirks.reasoningBack : "none"),
      messages,
      quirks,
    ).map((message) => (quirks.imagesFirst ? imagesFirst(message) : message)),
  };
}

/** Whether the model can continue a given beginning of its answer. */
export function takesBeginning({ quirks, profile, options }: VendorContext): boolean {
  const { beginningField, beginningWhileThinking } = quirks;
  return beginningField !== undefined && (beginningWhileThinking || !thinksFirst(profile, options));
}

function mayThink({ stream, response_format, tool_choice }: SentRequest, quirks: Quirks): boolean {
  if (stream !== true && !quirks.thinksUnstreamed) return false;
  if (response_format !== undefined && !quirks.thinksInJson) return false;
  return !(isForced(tool_choice) && quirks.forcedTool === "unless_thinking");
}

/** The options for a model that does not think in this call. */
function unthinking({ profile, options }: VendorContext): Pick<SentRequest, "temperature" | "max_tokens"> {
  const { temperature, maxTokens } = callDefaults(profile, { ...options, thinking: false });
  return { temperature, max_tokens: maxTokens };
}

function temperatureOf(
  temperature: number | null | undefined,
  thinks: boolean,
  { thinkingTemperature, highestTemperature }: Quirks,
): Pick<SentRequest, "temperature"> {
  if (temperature === undefined || temperature === null) return {};
  if (thinks && !thinkingTemperature) return { temperature: undefined };
  return { temperature: Math.min(temperature, highestTemperature) };
}

function thinkingOf(thinks: boolean, { quirks, profile }: VendorContext): Record<string, unknown> {
  const { thinkingField } = quirks;
  if (profile.thinking === "none" || profile.thinking === "always" || thinkingField === undefined) return {};
  if (thinkingField === "thinking") return { thinking: { type: thinks ? "enabled" : "disabled" } };
  return thinkingField === "chat_template_kwargs"
    ? { chat_template_kwargs: { enable_thinking: thinks } }
    : { [thinkingField]: thinks };
}

function isForced(choice: unknown): boolean {
  return choice === "required" || functionName(choice) !== undefined;
}

/** The name in a tool or in a tool choice, which share a form. */
function functionName(tool: unknown): string | undefined {
  if (typeof tool !== "object" || tool === null || !("function" in tool)) return undefined;
  const { function: named } = tool;
  return typeof named === "object" && named !== null && "name" in named ? String(named.name) : undefined;
}

/** Emulates an unsupported tool choice by what is offered: only that tool, or none. */
function withForcedTool(request: SentRequest, thinks: boolean, { forcedTool }: Quirks): SentRequest {
  const { tool_choice, tools, ...rest } = request;
  const isTaken = forcedTool === "always" || (forcedTool === "unless_thinking" && !thinks);
  if (!isTaken && tool_choice === "none") return rest;
  if (isTaken || !isForced(tool_choice)) return request;
  const name = functionName(tool_choice);
  const offered = name === undefined ? tools : tools?.filter((tool) => functionName(tool) === name);
  return { ...rest, tools: offered };
}

/** Adds the vendor's search if the run wants it; with a forced tool nothing else is offered. */
function withSearch(request: SentRequest, isToolForced: boolean, { quirks, options }: VendorContext): SentRequest {
  if (quirks.searchTool === undefined || options.webSearch !== true || isToolForced) return request;
  return { ...request, tools: [...(request.tools ?? []), vendorSearchTool] };
}

/** Adds the model's reasoning where the vendor expects it; the client never sends it. */
function withReasoning(
  sent: readonly SentMessage[],
  messages: readonly BaseMessage[],
  back: Quirks["reasoningBack"],
): readonly SentMessage[] {
  if (back === "none") return sent;
  const turn = placeOfRequest(messages);
  const thoughts = messages.flatMap((message, index) => {
    if (!isAIMessage(message)) return [];
    const kept: unknown = message.additional_kwargs["reasoning_content"];
    const text = typeof kept === "string" ? kept : "";
    if (isAnswerBeginning(message)) return [text === "" ? undefined : text];
    const isWanted = back === "calls" ? (message.tool_calls ?? []).length > 0 : index > turn && text !== "";
    // Messages from elsewhere have no known reasoning; a vendor that requires it gets an empty text.
    return [isWanted ? text : undefined];
  });
  let next = 0;
  return sent.map((message) => {
    if (message.role !== "assistant") return message;
    const reasoning_content = thoughts[next];
    next += 1;
    return reasoning_content === undefined ? message : { ...message, reasoning_content };
  });
}

/** Marks the last message as the beginning of the answer. */
function withBeginning(
  sent: readonly SentMessage[],
  messages: readonly BaseMessage[],
  { beginningField }: Quirks,
): readonly SentMessage[] {
  const last = sent.at(-1);
  if (beginningField === undefined || last === undefined || !isAnswerBeginning(messages.at(-1))) return sent;
  return [...sent.slice(0, -1), { ...last, [beginningField]: true }];
}

function imagesFirst(message: SentMessage): SentMessage {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  const parts: unknown[] = content;
  const isImage = (part: unknown): boolean =>
    typeof part === "object" && part !== null && "type" in part && part.type === "image_url";
  return { ...message, content: [...parts.filter((part) => isImage(part)), ...parts.filter((part) => !isImage(part))] };
}
