import { AIMessageChunk, type AIMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { openHintLength, withoutHints, withoutHintsIn } from "../../context/hints.ts";
import { writeTool } from "../../tools/conversation/deletion-list.ts";
import { asPart } from "./cut-output.ts";

/** The pieces of an answer without the hints that a model repeats. What may become one waits for what follows. */
export async function* hintlessPieces(pieces: AsyncIterable<ChatGenerationChunk>): AsyncGenerator<ChatGenerationChunk> {
  let held = "";
  let id: string | undefined;
  for await (const piece of pieces) {
    id ??= piece.message.id;
    const text = withoutHints(held + piece.text);
    const open = openHintLength(text);
    held = text.slice(text.length - open);
    const said = text.slice(0, text.length - open);
    yield said === piece.text ? piece : asPart(piece, { id, text: said, unmarked: false });
  }
  if (held === "") return;
  const message = new AIMessageChunk({ ...(id === undefined ? {} : { id }), content: held });
  yield new ChatGenerationChunk({ text: held, message });
}

/** An answer that came whole, without the hints that a model repeats. */
export function hintlessResult(result: ChatResult): ChatResult {
  for (const generation of result.generations) {
    const { message } = generation;
    if (typeof message.content !== "string") continue;
    message.content = withoutHints(message.content);
    generation.text = withoutHints(generation.text);
  }
  return result;
}

/** Takes the hints out of the calls of a reply, but for the one that names messages by them. */
export function hintlessCalls(message: AIMessage): void {
  message.tool_calls = (message.tool_calls ?? []).map((call) =>
    call.name === writeTool ? call : { ...call, args: withoutHintsIn(call.args) },
  );
}
