import { setImmediate as nextTurn } from "node:timers/promises";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { z } from "zod";
import { JsonObject } from "../../storage/records.ts";
import { Attachments, readExtras, References, roleNamed, roleOf } from "./message-fields.ts";

/** Maximum characters of a message. */
export const maxTextLength = 1_000_000;
/** Maximum parts of a message. */
export const maxParts = 1000;

const Content = z.union([z.string().max(maxTextLength), z.array(z.looseObject({ type: z.string() })).max(maxParts)]);
const Call = z.object({
  id: z.string().min(1).max(200),
  name: z.string().min(1).max(200),
  args: JsonObject.default({}),
});
const Usage = z.looseObject({ input_tokens: z.number(), output_tokens: z.number(), total_tokens: z.number() });

/** What may accompany a message's text. Built once: building a schema costs more than parsing a message with it. */
const carriedFields = [
  ["attachments", Attachments.nullish()],
  ["references", References.nullish()],
] as const;

/** Fields of the flat form besides `role` and `content`; the stored form has them in `additional_kwargs`. */
const flatFields = [
  "timestamp",
  "attachments",
  "references",
  "reasoning_content",
  "operations",
  "usage",
  "is_partial",
  "stop_reason",
  "tool_calls_pending",
  "web_search_results",
  "metadata",
  "llm_metadata",
] as const;

/**
 * A message as files and requests contain it: `type` with `additional_kwargs`, or the flat form with `role`. Both
 * accept LangChain's role names and ours. `message_id` and `created_at` are read from older exports.
 */
export const StoredMessage = z
  .looseObject({
    id: z.string().min(1).max(200).nullish(),
    message_id: z.string().min(1).max(200).nullish(),
    type: z.string().nullish(),
    role: z.string().nullish(),
    content: Content,
    additional_kwargs: JsonObject.default({}),
    name: z.string().max(200).nullish(),
    created_at: z.string().nullish(),
    tool_call_id: z.string().min(1).max(200).nullish(),
    tool_calls: z.array(Call).max(100).nullish(),
    status: z.enum(["success", "error"]).nullish(),
    usage_metadata: Usage.nullish(),
    response_metadata: JsonObject.nullish(),
  })
  .superRefine((message, context) => {
    const named = message.role ?? message.type;
    const role = named === null || named === undefined ? undefined : roleNamed(named);
    if (role === undefined) {
      const text = `expected user, assistant, system or tool (or human, ai), got ${JSON.stringify(named ?? null)}`;
      context.addIssue({ code: "custom", path: [message.role ? "role" : "type"], message: text });
    }
    if (role === "tool" && !message.tool_call_id) {
      const text = "a tool's message names the call that it answers";
      context.addIssue({ code: "custom", path: ["tool_call_id"], message: text });
    }
    const extras = extrasOf(message);
    for (const [key, schema] of carriedFields) {
      const checked = schema.safeParse(extras[key]);
      for (const issue of checked.error?.issues ?? []) {
        context.addIssue({ code: "custom", path: [key, ...issue.path], message: issue.message });
      }
    }
  });
export type StoredMessage = z.infer<typeof StoredMessage>;

function extrasOf(data: z.infer<typeof StoredMessage>): JsonObject {
  const flat = flatFields.flatMap((key) => (data[key] === undefined || data[key] === null ? [] : [[key, data[key]]]));
  const timestamp = data["timestamp"] ?? data.created_at;
  return {
    ...data.additional_kwargs,
    ...JsonObject.parse(Object.fromEntries(flat)),
    ...(typeof timestamp === "string" && { timestamp }),
  };
}

/** Messages parsed per turn of the event loop. */
const atOnce = 100;

/**
 * Parses a long list of stored messages, yielding to other requests. Errors are reported by list index, as zod does.
 */
export async function readStoredList(
  list: readonly unknown[],
): Promise<{ messages: StoredMessage[]; problems: z.core.$ZodIssue[] }> {
  const messages: StoredMessage[] = [];
  const problems: z.core.$ZodIssue[] = [];
  for (const [index, form] of list.entries()) {
    if (index % atOnce === atOnce - 1) await nextTurn();
    const { data, error } = StoredMessage.safeParse(form);
    if (data !== undefined) messages.push(data);
    problems.push(...(error?.issues ?? []).map((issue) => ({ ...issue, path: [index, ...issue.path] })));
  }
  return { messages, problems };
}

/** The message of a validated stored form, with a new id and time if it has none. */
export function fromStored(data: StoredMessage, now: string): BaseMessage {
  const common = {
    id: data.id ?? data.message_id ?? newId(),
    // A list of parts is whatever the provider accepts; the model may refuse its shape.
    content: data.content as string,
    additional_kwargs: { timestamp: now, ...extrasOf(data) },
    ...(data.name && { name: data.name }),
    ...(data.response_metadata && { response_metadata: data.response_metadata }),
  };
  switch (roleNamed(data.role ?? data.type ?? "")) {
    case "user":
      return new HumanMessage(common);
    case "system":
      return new SystemMessage(common);
    case "tool": {
      const { tool_call_id, status } = data;
      return new ToolMessage({ ...common, tool_call_id: tool_call_id ?? "", ...(status && { status }) });
    }
    case "assistant":
    case undefined:
      return new AIMessage({ ...common, ...assistantFields(data) });
  }
}

function assistantFields(data: StoredMessage): object {
  const tool_calls = (data.tool_calls ?? []).map((call) => ({ ...call, type: "tool_call" as const }));
  return { tool_calls, ...(data.usage_metadata && { usage_metadata: data.usage_metadata }) };
}

/** A message's stored form, from which `fromStored` restores it. */
export function toStored(message: BaseMessage): JsonObject {
  const calls = "tool_calls" in message && Array.isArray(message.tool_calls) ? message.tool_calls : [];
  const optional = {
    id: message.id,
    name: message.name,
    tool_call_id: "tool_call_id" in message ? message.tool_call_id : undefined,
    status: "status" in message ? message.status : undefined,
    usage_metadata: "usage_metadata" in message ? message.usage_metadata : undefined,
    tool_calls: calls.length === 0 ? undefined : calls.map(({ id, name, args }) => ({ id, name, args })),
    response_metadata: Object.keys(message.response_metadata).length === 0 ? undefined : message.response_metadata,
  };
  return {
    type: roleOf(message),
    content: message.content,
    additional_kwargs: message.additional_kwargs,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined && value !== null)),
  };
}

/** Whether a message is hidden from readers: system texts, and those marked as hidden. */
export function isHidden(message: BaseMessage): boolean {
  return roleOf(message) === "system" || readExtras(message).hidden;
}

/** An id used twice: within a list, an id must be unique. */
export function repeatedId(messages: readonly StoredMessage[]): string | undefined {
  const seen = new Set<string>();
  for (const message of messages) {
    const id = message.id ?? message.message_id;
    if (id === null || id === undefined) continue;
    if (seen.has(id)) return id;
    seen.add(id);
  }
  return undefined;
}
