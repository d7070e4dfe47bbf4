import * as z from "zod/mini";
import { editable } from "./editable.ts";
import type { MessageData, ThreadEvent } from "./events.ts";
import type { AssistantItem, Block, Call, ThreadState } from "./items.ts";

/** Puts a call in the place of the one with its id. */
export function withCall(state: ThreadState, call: Call): ThreadState {
  return { ...state, calls: editable(state.calls).set(call.id, call) };
}

/** A call of which nothing but its id is known. */
export function newCall(id: string, name: string, runId: string | undefined): Call {
  return {
    id,
    name,
    args: undefined,
    argsText: "",
    status: "preparing",
    result: undefined,
    whole: undefined,
    output: "",
    startedAt: undefined,
    endedAt: undefined,
    runId,
    agents: [],
  };
}

/** A block to which nothing will be added. */
export function closed(block: Block, at: number): Block {
  if (block.kind === "call" || !block.isOpen) return block;
  return block.kind === "reasoning" ? { ...block, isOpen: false, endedAt: at } : { ...block, isOpen: false };
}

type BlockEvent = Exclude<MessageData, { event: "message-start" | "message-finish" }>;

/** A block of a message after an event about it; none where its beginning is not known. */
export function blockAfter(
  state: ThreadState,
  item: AssistantItem,
  data: BlockEvent,
  event: ThreadEvent,
): { state: ThreadState; block: Block } | undefined {
  const known = item.blocks[data.index];
  if (data.event === "content-block-delta") {
    if (known === undefined) return undefined;
    if (known.kind === "call") return withArguments(state, known, data.delta.fields?.args ?? "");
    return { state, block: { ...known, text: known.text + (data.delta.text ?? data.delta.reasoning ?? "") } };
  }
  const { content } = data;
  const isOpen = data.event === "content-block-start";
  if (content.type === "text") return { state, block: { kind: "text", text: content.text ?? "", isOpen } };
  if (content.type === "reasoning") return { state, block: thought(known, content.reasoning ?? "", event, isOpen) };
  if (!content.type.includes("tool_call")) return { state, block: { kind: "text", text: "", isOpen: false } };
  const id = content.id ?? `${item.id}.${data.index}`;
  const call = state.calls.get(id) ?? newCall(id, content.name ?? "", event.runId);
  const args = readArguments(content.args);
  const argsText = typeof content.args === "string" ? content.args : call.argsText;
  const changed = { ...call, name: content.name ?? call.name, argsText, ...(args !== undefined && { args }) };
  return { state: withCall(state, changed), block: { kind: "call", callId: id } };
}

function thought(known: Block | undefined, text: string, { timestamp }: ThreadEvent, isOpen: boolean): Block {
  const startedAt = known?.kind === "reasoning" ? known.startedAt : timestamp;
  const times = { ...(startedAt !== undefined && { startedAt }), ...(!isOpen && { endedAt: timestamp }) };
  return { kind: "reasoning", text, isOpen, ...times };
}

function withArguments(
  state: ThreadState,
  block: Extract<Block, { kind: "call" }>,
  argsText: string,
): { state: ThreadState; block: Block } {
  const call = state.calls.get(block.callId);
  return { state: call === undefined ? state : withCall(state, { ...call, argsText }), block };
}

const Arguments = z.record(z.string(), z.unknown());

/** The arguments of a call, where they are whole. */
export function readArguments(value: unknown): Record<string, unknown> | undefined {
  return z.safeParse(Arguments, value).data;
}
