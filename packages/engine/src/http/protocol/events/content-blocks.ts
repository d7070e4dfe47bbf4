import type { AIMessageChunk } from "@langchain/core/messages";
import { z } from "zod";

/**
 * A piece of a model's answer, in order. `call` is the index of a tool call within the answer; some providers reuse one
 * index for several calls, which only ids tell apart.
 */
export type Piece =
  | { kind: "text" | "reasoning"; text: string }
  | { kind: "call"; call: number; id?: string | undefined; name?: string | undefined; args: string }
  | { kind: "other"; block: Record<string, unknown> };

/** Data of a `messages` event about one content block. */
export type BlockData = { event: string; index: number } & Record<string, unknown>;

/** The blocks of one message. Block N ends before block N+1 begins. */
export interface Blocks {
  add(piece: Piece): BlockData[];
  /** Ends the open block; nothing follows it. */
  close(): BlockData[];
}

/** A block being written. */
interface Block {
  index: number;
  kind: "text" | "reasoning" | "call";
  text: string;
  /** Characters of a call's arguments already emitted. */
  emitted: number;
  call?: number | undefined;
  id?: string | undefined;
  name?: string | undefined;
}

const growth = 1.25;

/** The calls of one message, in order. */
function createCalls() {
  const newest = new Map<number, Block>();
  const byId = new Map<string, Block>();
  const add = (block: Block): void => {
    if (block.call !== undefined) newest.set(block.call, block);
    if (block.id) byId.set(block.id, block);
  };
  return {
    add,
    /**
     * The call that a piece continues; `undefined` if it starts one. A piece without an id belongs to the newest call
     * at its index.
     */
    find({ call, id, name }: Piece & { kind: "call" }): Block | undefined {
      const ofPlace = newest.get(call);
      if (!id) return ofPlace;
      const known = byId.get(id) ?? (ofPlace?.id ? undefined : ofPlace);
      if (known !== undefined && !known.id) {
        known.id = id;
        known.name ??= name;
        byId.set(id, known);
      }
      return known;
    },
  };
}

/** Builds the blocks of one message from its pieces. */
export function createBlocks(): Blocks {
  const calls = createCalls();
  let open: Block | undefined;
  let next = 0;

  const finish = (block: Block): BlockData => ({
    event: "content-block-finish",
    index: block.index,
    content: finishedBlock(block),
  });
  const close = (): BlockData[] => {
    const last = open;
    open = undefined;
    return last === undefined ? [] : [finish(last)];
  };
  const begin = (block: Omit<Block, "index" | "text" | "emitted">): BlockData[] => {
    const ended = close();
    open = { ...block, index: next++, text: "", emitted: 0 };
    calls.add(open);
    return [...ended, { event: "content-block-start", index: open.index, content: emptyBlock(open) }];
  };

  /** More of a call whose block has ended: no provider does this, but nothing forbids it. */
  const late = (block: Block, args: string): BlockData[] => {
    block.text += args;
    return [finish(block)];
  };

  return {
    close,
    add(piece) {
      if (piece.kind === "other") {
        const ended = close();
        const index = next++;
        const content = piece.block;
        return [
          ...ended,
          { event: "content-block-start", index, content },
          { event: "content-block-finish", index, content },
        ];
      }
      if (piece.kind !== "call") {
        const events = open?.kind === piece.kind ? [] : begin({ kind: piece.kind });
        if (open !== undefined) open.text += piece.text;
        const index = open?.index ?? 0;
        const delta =
          piece.kind === "text"
            ? { type: "text-delta", text: piece.text }
            : { type: "reasoning-delta", reasoning: piece.text };
        return [...events, { event: "content-block-delta", index, delta }];
      }
      const known = calls.find(piece);
      if (known !== undefined && known !== open) return late(known, piece.args);
      const events = known === undefined ? begin(piece) : [];
      if (open === undefined || piece.args === "") return events;
      open.text += piece.args;
      return [...events, ...emitArguments(open)];
    },
  };
}

/**
 * The whole arguments so far: clients before protocol 0.0.21 fail on partial ones. To avoid emitting long arguments
 * once per token, they must first grow by a quarter.
 */
function emitArguments(block: Block): BlockData[] {
  const { text, emitted, index } = block;
  if (emitted > 0 && text.length < emitted * growth) return [];
  block.emitted = text.length;
  const delta = { type: "block-delta", fields: { type: "tool_call_chunk", args: text } };
  return [{ event: "content-block-delta", index, delta }];
}

function emptyBlock({ kind, id, name }: Block): Record<string, unknown> {
  if (kind === "call") return { type: "tool_call_chunk", id: id ?? null, name: name ?? null, args: "" };
  return { type: kind, [kind]: "" };
}

function finishedBlock({ kind, id, name, text }: Block): Record<string, unknown> {
  if (kind !== "call") return { type: kind, [kind]: text };
  const args = readArguments(text);
  const call = { id: id ?? null, name: name ?? null };
  if (name !== undefined && args !== undefined) return { type: "tool_call", ...call, args };
  return { type: "invalid_tool_call", ...call, args: text, error: "The arguments are not a JSON object." };
}

const Arguments = z.record(z.string(), z.unknown());

function readArguments(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") return {};
  try {
    return Arguments.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const TextPart = z.looseObject({ type: z.enum(["text", "text_delta"]), text: z.string() });
const ReasoningPart = z.union([
  z.looseObject({ type: z.literal("reasoning"), reasoning: z.string() }).transform(({ reasoning }) => reasoning),
  z.looseObject({ type: z.literal("thinking"), thinking: z.string() }).transform(({ thinking }) => thinking),
]);
const AnyPart = z.looseObject({ type: z.string() });
/** Content parts that also arrive as calls. */
const callParts = new Set(["tool_use", "input_json_delta", "tool_call", "tool_call_chunk", "function_call"]);

/** The pieces of a message or chunk, in display order. */
export function piecesOf(message: Pick<AIMessageChunk, "content" | "additional_kwargs"> & Calls): Piece[] {
  const reasoning = message.additional_kwargs["reasoning_content"];
  const content: unknown[] = typeof message.content === "string" ? [message.content] : message.content;
  return [
    ...(typeof reasoning === "string" && reasoning !== "" ? [{ kind: "reasoning" as const, text: reasoning }] : []),
    ...content.flatMap(contentPieces),
    ...callPieces(message),
  ];
}

function contentPieces(part: unknown): Piece[] {
  if (typeof part === "string") return part === "" ? [] : [{ kind: "text", text: part }];
  const text = TextPart.safeParse(part).data?.text;
  if (text !== undefined) return text === "" ? [] : [{ kind: "text", text }];
  const reasoning = ReasoningPart.safeParse(part).data;
  if (reasoning !== undefined) return reasoning === "" ? [] : [{ kind: "reasoning", text: reasoning }];
  const block = AnyPart.safeParse(part).data;
  return block === undefined || callParts.has(block.type) ? [] : [{ kind: "other", block }];
}

/** The calls of a message: in pieces while streaming, else whole. */
interface Calls {
  tool_calls?: AIMessageChunk["tool_calls"];
  tool_call_chunks?: AIMessageChunk["tool_call_chunks"];
}

function callPieces({ tool_calls = [], tool_call_chunks = [] }: Calls): Piece[] {
  if (tool_call_chunks.length > 0) {
    return tool_call_chunks.map(({ index, id, name, args }, at) => ({
      kind: "call",
      call: index ?? at,
      id,
      name,
      args: args ?? "",
    }));
  }
  return tool_calls.map(({ id, name, args }, call) => ({ kind: "call", call, id, name, args: JSON.stringify(args) }));
}
