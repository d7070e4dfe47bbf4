import type { ChatGenerationChunk } from "@langchain/core/outputs";

/** A call that a reply has written in its text and closed, with the id it has in the message. */
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

/** The call written in the text that this chunk of a streamed reply closes; `undefined` for all other chunks. */
export function writtenCall(chunk: ChatGenerationChunk): WrittenCall | undefined {
  return calls.get(chunk);
}
