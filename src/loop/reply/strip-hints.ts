import { AIMessageChunk, type AIMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { openHintLength, withoutHints, withoutHintsIn } from "../../context/hints.ts";
import { writeTool } from "../../tools/conversation/deletion-list.ts";
import { asPart } from "./cut-output.ts";

/** Removes hints that a model repeats from a streamed answer. Text that may become a hint waits for the next piece. */
export async function* stripHintsFromStream(
  pieces: AsyncIterable<ChatGenerationChunk>,
): AsyncGenerator<ChatGenerationChunk> {
  let held = "";
  let id: string | undefined;
  for await (const piece of pieces) {
    id ??= piece.message.id;
    const text = withoutHints(held + piece.text);
    const open = openHintLength(text);
    held = text.slice(text.length - open);
    const passed = text.slice(0, text.length - open);
    yield passed === piece.text ? piece : asPart(piece, { id, text: passed, unmarked: false });
  }
  if (held === "") return;
  const message = new AIMessageChunk({ ...(id === undefined ? {} : { id }), content: held });
  yield new ChatGenerationChunk({ text: held, message });
}

/** Removes repeated hints from a complete answer. */
export function stripHintsFromResult(result: ChatResult): ChatResult {
  for (const generation of result.generations) {
    const { message } = generation;
    if (typeof message.content !== "string") continue;
    message.content = withoutHints(message.content);
    generation.text = withoutHints(generation.text);
  }
  return result;
}

/** Removes hints from a reply's calls, except the call that refers to messages by them. */
export function stripHintsFromCalls(message: AIMessage): void {
  message.tool_calls = (message.tool_calls ?? []).map((call) =>
    call.name === writeTool ? call : { ...call, args: withoutHintsIn(call.args) },
  );
}
