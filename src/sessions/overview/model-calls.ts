import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { OwnerScope } from "@millrace/engine/sessions/scope/owner-scope";
import { Endpoint, WireRequest } from "@millrace/models/messages/wire-request";
import { cacheBreak, CacheBreak } from "./cache-break.ts";
import { asSent, type ContextSources } from "./context-snapshot.ts";

/** A model request of a run, without its content. */
export const ModelCallSummary = z.object({
  number: z.number().int().describe("Counts from 1 in the run"),
  run_id: z.string(),
  model_call_id: z
    .string()
    .nullable()
    .describe("The model call, as its span has it: an answer that is continued takes several; null in older ones"),
  node: z.string().describe("The node that asked"),
  is_silent: z.boolean().describe("What came back was for the program, not for the reader"),
  asked_at: z.string(),
});

/** What differs between a request and the one that the same node has made before it. */
const Difference = z.object({
  run_id: z.string(),
  number: z.number().int(),
  same_bytes: z.number().int().describe("So many bytes of the JSON of `request` are the same from the beginning on"),
  bytes: z.number().int().describe("Of the JSON of this request"),
  same_messages: z.number().int().describe("So many messages are the same from the beginning on"),
  messages: z.array(z.record(z.string(), z.unknown())).describe("Those of this request that follow"),
  former_messages: z.array(z.record(z.string(), z.unknown())).describe("Those of the request before that followed"),
  tools_changed: z.boolean(),
  other_changes: z.array(z.string()).describe("Other fields that differ, by name"),
  cache_break: CacheBreak.nullable().describe(
    "Where a provider's prompt cache ends early; null: all before is read from it",
  ),
});

/** A request of a run as it was sent, and what differs from the one before. */
export const ModelCallDetails = ModelCallSummary.extend({
  model: z.string(),
  request: WireRequest.describe("What was sent, as the model's server read it"),
  is_exact: z.boolean().describe("False where this server can no longer ask that model: then in OpenAI's words"),
  endpoint: Endpoint.nullable().describe("Where it goes; null for the offline model, and where that is not known"),
  difference: Difference.nullable().describe("null for the first of its node, and where the one before is not kept"),
});
export type ModelCallDetails = z.infer<typeof ModelCallDetails>;

/** A model request of a run; `undefined` if not stored. */
export async function readModelCall(
  { storage, ...server }: { storage: Pick<OwnerScope["storage"], "requests"> } & ContextSources,
  sessionId: string,
  { run_id, number }: { run_id: string; number: number },
): Promise<ModelCallDetails | undefined> {
  const found = await storage.requests.call(sessionId, run_id, number);
  if (found === undefined) return undefined;
  const { request, before } = found;
  const sent = await asSent(request, server);
  const former = before && (await storage.requests.call(sessionId, before.run_id, before.number));
  const difference =
    before === undefined || former === undefined
      ? null
      : { ...before, ...differenceOf(sent.request, (await asSent(former.request, server)).request) };
  const { model_call_id, node, is_silent, asked_at, model } = request;
  return { number, run_id, model_call_id, node, is_silent, asked_at, model, ...sent, difference };
}

function differenceOf(
  request: WireRequest,
  before: WireRequest,
): Omit<z.infer<typeof Difference>, "run_id" | "number"> {
  const [own, former] = [Buffer.from(JSON.stringify(request)), Buffer.from(JSON.stringify(before))];
  const same_messages = commonLength(request.messages, before.messages, (one, other) => isDeepStrictEqual(one, other));
  const names = [...new Set([...Object.keys(request), ...Object.keys(before)])];
  return {
    same_bytes: commonLength(own, former, (one, other) => one === other),
    bytes: own.length,
    same_messages,
    messages: request.messages.slice(same_messages),
    former_messages: before.messages.slice(same_messages),
    cache_break: cacheBreak(request, before),
    tools_changed: !isDeepStrictEqual(request.tools, before.tools),
    other_changes: names.filter(
      (name) => name !== "messages" && name !== "tools" && !isDeepStrictEqual(request[name], before[name]),
    ),
  };
}

/** How many items two lists have in common from the beginning on. */
function commonLength<Item>(
  one: ArrayLike<Item>,
  other: ArrayLike<Item>,
  isSame: (one: Item, other: Item) => boolean,
): number {
  const shorter = Math.min(one.length, other.length);
  let count = 0;
  while (count < shorter) {
    const [left, right] = [one[count], other[count]];
    if (left === undefined || right === undefined || !isSame(left, right)) break;
    count += 1;
  }
  return count;
}
