import type { ChatGenerationChunk } from "@langchain/core/outputs";

/** A completed call in a reply's text, with its id in the message. */
export interface WrittenCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

const calls = new WeakMap<ChatGenerationChunk, WrittenCall>();

/** Marks the chunk that closes a call written in the text. */
export function markWrittenCall(chunk: ChatGenerationChunk, call: WrittenCall): void {
  calls.set(chunk, call);
}

/** The completed call in this chunk of a streamed reply; `undefined` for all other chunks. */
export function writtenCall(chunk: ChatGenerationChunk): WrittenCall | undefined {
  return calls.get(chunk);
}
