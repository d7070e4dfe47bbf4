import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage, ToolMessageChunk } from "@langchain/core/messages";
import { describe, expect, inject, it } from "vitest";
import {
  isAIMessageChunk,
  isBaseMessage,
  isBaseMessageChunk,
  isPlainAIMessageChunk,
  kindOf,
  messageText,
} from "@millrace/engine/message-kinds";
import { packEvents } from "@millrace/engine/storage/events/event-batch";

const copy = join(inject("ownPackages"), "node_modules", "@langchain", "core", "dist", "messages", "index.js");
// Another copy of the package has the same names.
const other = (await import(pathToFileURL(copy).href)) as {
  AIMessage: typeof AIMessage;
  AIMessageChunk: typeof AIMessageChunk;
};

class Loud extends AIMessageChunk {
  volume = 11;
}
/** A message as versions before 0.3 make it, without a mark and with one name for its kind. */
const old = { content: "hi", _getType: () => "ai", concat: () => old };

describe("a value is a message by what it is, whichever copy of the package made it", () => {
  it.each([
    ["a message", new HumanMessage("hi"), [true, false, false, false], "human"],
    ["a model's", new AIMessage("hi"), [true, false, false, false], "ai"],
    ["a chunk", new AIMessageChunk("hi"), [true, true, true, true], "ai"],
    ["a chunk of another class", new Loud("hi"), [true, true, true, false], "ai"],
    ["a tool's", new ToolMessage({ content: "hi", tool_call_id: "1" }), [true, false, false, false], "tool"],
    ["a tool's chunk", new ToolMessageChunk({ content: "hi", tool_call_id: "1" }), [true, true, false, false], "tool"],
    ["a model's of another copy", new other.AIMessage("hi"), [true, false, false, false], "ai"],
    ["a chunk of another copy", new other.AIMessageChunk("hi"), [true, true, true, true], "ai"],
    ["a chunk of an old version", old, [true, true, true, false], "ai"],
  ])("%s", (_, value, [message, chunk, aiChunk, plain], kind) => {
    const known = [
      isBaseMessage(value),
      isBaseMessageChunk(value),
      isAIMessageChunk(value),
      isPlainAIMessageChunk(value),
    ];
    expect(known).toEqual([message, chunk, aiChunk, plain]);
    expect(isBaseMessage(value) && kindOf(value)).toBe(kind);
    expect(isBaseMessage(value) && messageText(value)).toBe("hi");
  });

  it.each([
    [null],
    [undefined],
    ["hi"],
    [[]],
    [{ type: "ai", content: "hi" }],
    [{ _getType: "ai" }],
    [Object.create(null)],
  ])("and %o is none", (value) => {
    expect(isBaseMessage(value)).toBe(false);
    expect(isPlainAIMessageChunk(value)).toBe(false);
  });

  it("and a log keeps the chunks of another copy as short as our own", () => {
    const packed = (Chunk: typeof AIMessageChunk) =>
      packEvents(
        Array.from("begin", (content, id) => ({
          id,
          event: "messages" as const,
          namespace: [],
          data: new Chunk({ id: "one", content }),
          metadata: {},
        })),
      );
    expect(packed(other.AIMessageChunk)).toEqual(packed(AIMessageChunk));
    expect(packed(AIMessageChunk).events[4]).toEqual([4, 0, 1, "n", 2]);
  });
});
