import { createHash } from "node:crypto";
import { AIMessageChunk, isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { z } from "zod";
import { placeOfRequest } from "../messages/note-message.ts";
import { sealedField } from "@millrace/engine/message-kinds";

/** Requests encrypted reasoning, which only its vendor can read. */
export const sealedInclude = ["reasoning.encrypted_content"];

const Item = z.looseObject({ type: z.literal("reasoning"), encrypted_content: z.string().min(1) });
const Following = z.union([
  z.looseObject({ type: z.literal("function_call"), call_id: z.string() }),
  z.looseObject({ type: z.literal("message") }),
]);
const DoneEvent = z.looseObject({ type: z.literal("response.output_item.done"), item: z.unknown() });
const Whole = z.looseObject({ output: z.array(z.unknown()) });

/** Reasoning to send back: its origin, and the call that followed it; `null`: text followed. */
const Sealed = z.object({ from: z.string(), before: z.string().nullable(), item: Item });
type Sealed = z.infer<typeof Sealed>;
const Kept = z.array(Sealed).catch([]);

/** The origin of encrypted reasoning: a hash of model and address, which reveals neither. */
export function sealerOf(model: string, address: string | null | undefined): string {
  const place = address ?? "";
  return createHash("sha256").update(`${place} ${model}`).digest("base64url").slice(0, 16);
}

/** The output parts of a `/responses` event or answer. */
export function outputOf(answer: unknown): unknown[] {
  const done = DoneEvent.safeParse(answer).data;
  return done === undefined ? (Whole.safeParse(answer).data?.output ?? []) : [done.item];
}

/** Stores an answer's encrypted reasoning on its message; reasoning followed by nothing is dropped. */
export function keepSealed(message: BaseMessage, output: readonly unknown[], from: string): void {
  const sealed = output.flatMap((part, index): Sealed[] => {
    const item = Item.safeParse(part).data;
    const next = output
      .slice(index + 1)
      .map((later) => Following.safeParse(later).data)
      .find((later) => later !== undefined);
    if (item === undefined || next === undefined) return [];
    return [{ from, before: "call_id" in next ? String(next.call_id) : null, item }];
  });
  if (sealed.length > 0) message.additional_kwargs[sealedField] = sealed;
}

/** `keepSealed` for a streamed answer: its chunks, then one without text that holds the reasoning. */
export async function* withSealed(
  chunks: AsyncIterable<ChatGenerationChunk>,
  output: readonly unknown[],
  from: string,
): AsyncGenerator<ChatGenerationChunk> {
  let id: string | undefined;
  for await (const chunk of chunks) {
    id = chunk.message.id ?? id;
    yield chunk;
  }
  const message = new AIMessageChunk({ content: "", ...(id === undefined ? {} : { id }) });
  keepSealed(message, output, from);
  if (sealedField in message.additional_kwargs) yield new ChatGenerationChunk({ text: "", message });
}

/**
 * Inserts this turn's encrypted reasoning into a request, each before what it led to, as the vendor requires. That of
 * other models and earlier turns is left out; the vendor would not read it.
 */
export function sealedInput(input: readonly unknown[], messages: readonly BaseMessage[], from: string): unknown[] {
  const turn = messages.slice(placeOfRequest(messages) + 1);
  const byCall = new Map<string, unknown[]>();
  const byWords = new Map<string, unknown[]>();
  for (const message of turn) {
    if (!isAIMessage(message)) continue;
    const first = message.tool_calls?.[0]?.id ?? "";
    for (const sealed of Kept.parse(message.additional_kwargs[sealedField])) {
      if (sealed.from !== from) continue;
      const place = sealed.before === null ? byWords : byCall;
      const key = sealed.before ?? first;
      place.set(key, [...(place.get(key) ?? []), sealed.item]);
    }
  }
  const take = (place: Map<string, unknown[]>, call: string | undefined): unknown[] => {
    const items = call === undefined ? [] : (place.get(call) ?? []);
    if (call !== undefined) place.delete(call);
    return items;
  };
  return input.flatMap((item, index) => {
    const call = callIdOf(item);
    if (call !== undefined) return [...take(byWords, call), ...take(byCall, call), item];
    // Text before calls belongs to the same message.
    return [...(isWords(item) ? take(byWords, callIdOf(input[index + 1])) : []), item];
  });
}

function callIdOf(item: unknown): string | undefined {
  const read = Following.safeParse(item).data;
  return read !== undefined && "call_id" in read ? String(read.call_id) : undefined;
}

function isWords(item: unknown): boolean {
  return typeof item === "object" && item !== null && "role" in item && item.role === "assistant";
}

const Refused = z.looseObject({ code: z.literal("invalid_encrypted_content") });

/**
 * Whether a request failed because the vendor can no longer decrypt its reasoning, for example after a change of keys
 * or organisation.
 */
export function isUnreadable(error: unknown): boolean {
  return Refused.safeParse(error).success;
}
