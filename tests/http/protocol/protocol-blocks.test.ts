import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createBlocks,
  piecesOf,
  type BlockData,
  type Piece,
} from "@millrace/engine/http/protocol/events/content-blocks";

/** The events of a message with these chunks. */
function eventsOf(pieces: readonly Piece[]): BlockData[] {
  const blocks = createBlocks();
  return [...pieces.flatMap((piece) => blocks.add(piece)), ...blocks.close()];
}

const finished = (events: BlockData[]): unknown[] =>
  events.filter(({ event }) => event === "content-block-finish").map(({ content }) => content);

describe("the chunks of a message", () => {
  const call = { id: "c", name: "look", args: { at: 1 } };
  it.each([
    ["plain text", new AIMessageChunk({ content: "hi" }), [{ kind: "text", text: "hi" }]],
    ["nothing", new AIMessageChunk({ content: "" }), []],
    [
      "reasoning beside the text",
      new AIMessageChunk({ content: "hi", additional_kwargs: { reasoning_content: "hm" } }),
      [
        { kind: "reasoning", text: "hm" },
        { kind: "text", text: "hi" },
      ],
    ],
    [
      "a list of parts",
      new AIMessageChunk({
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "hi" },
          { type: "tool_use", id: "c", name: "look", input: {} },
          { type: "image", url: "https://example.com/a.png" },
        ],
      }),
      [
        { kind: "reasoning", text: "hm" },
        { kind: "text", text: "hi" },
        { kind: "other", block: { type: "image", url: "https://example.com/a.png" } },
      ],
    ],
    [
      "part of a call",
      new AIMessageChunk({ content: "", tool_call_chunks: [{ index: 1, id: "c", name: "look", args: '{"at"' }] }),
      [{ kind: "call", call: 1, id: "c", name: "look", args: '{"at"' }],
    ],
    [
      "a whole call",
      new AIMessage({ content: "hi", tool_calls: [call] }),
      [
        { kind: "text", text: "hi" },
        { kind: "call", call: 0, id: "c", name: "look", args: '{"at":1}' },
      ],
    ],
  ])("are found in %s", (_, message, pieces) => {
    expect(piecesOf(message)).toEqual(pieces);
  });
});

describe("content blocks", () => {
  it("end with the whole text, and tool calls with their arguments", () => {
    const events = eventsOf([
      { kind: "reasoning", text: "hm" },
      { kind: "text", text: "a" },
      { kind: "text", text: "b" },
      { kind: "call", call: 0, id: "c1", name: "look", args: '{"at"' },
      { kind: "call", call: 0, args: ":1}" },
      { kind: "call", call: 1, id: "c2", name: "go", args: "" },
      { kind: "call", call: 2, id: "c3", name: "broken", args: "{oh" },
    ]);
    expect(finished(events)).toEqual([
      { type: "reasoning", reasoning: "hm" },
      { type: "text", text: "ab" },
      { type: "tool_call", id: "c1", name: "look", args: { at: 1 } },
      { type: "tool_call", id: "c2", name: "go", args: {} },
      { type: "invalid_tool_call", id: "c3", name: "broken", args: "{oh", error: expect.any(String) },
    ]);
  });

  it("keep calls with the same index apart by their ids", () => {
    const chunks = [
      { index: 0, id: "a", name: "one", args: '{"n":' },
      { index: 0, args: "1}" },
      { index: 0, id: "b", name: "two", args: '{"n":' },
      { index: 0, id: "b", args: "2" },
      { index: 0, id: "", args: "}" },
      // Some vendors send no index.
      { id: "c", name: "three", args: "{}" },
      { id: "d", name: "four", args: "{}" },
    ];
    const pieces = chunks.flatMap((chunk) => piecesOf(new AIMessageChunk({ content: "", tool_call_chunks: [chunk] })));
    expect(finished(eventsOf(pieces))).toEqual([
      { type: "tool_call", id: "a", name: "one", args: { n: 1 } },
      { type: "tool_call", id: "b", name: "two", args: { n: 2 } },
      { type: "tool_call", id: "c", name: "three", args: {} },
      { type: "tool_call", id: "d", name: "four", args: {} },
    ]);
  });

  it("get the id and the name of a call that arrive after its first chunk", () => {
    const events = eventsOf([
      { kind: "call", call: 0, args: "" },
      { kind: "call", call: 0, id: "a", name: "one", args: "{}" },
    ]);
    expect(finished(events)).toEqual([{ type: "tool_call", id: "a", name: "one", args: {} }]);
  });

  it("send long arguments in batches, not one event per token", () => {
    const length = 20_000;
    const pieces = Array.from({ length }, (_, at): Piece => {
      return {
        kind: "call",
        call: 0,
        ...(at === 0 && { id: "c", name: "write" }),
        args: at === 0 ? '{"text":"' : "xy",
      };
    });
    const events = eventsOf([...pieces, { kind: "call", call: 0, args: '"}' }]);
    const deltas = events.filter(({ event }) => event === "content-block-delta");
    expect(deltas.length).toBeLessThan(60);
    const size = deltas.reduce((sum, delta) => sum + JSON.stringify(delta).length, 0);
    expect(size).toBeLessThan(length * 2 * 6);
    expect(finished(events)).toEqual([
      { type: "tool_call", id: "c", name: "write", args: { text: "xy".repeat(length - 1) } },
    ]);
  });

  it("of a call that continues after another has begun end again, with the whole call", () => {
    const events = eventsOf([
      { kind: "call", call: 0, id: "a", name: "one", args: '{"n":' },
      { kind: "call", call: 1, id: "b", name: "two", args: "{}" },
      { kind: "call", call: 0, args: "1}" },
    ]);
    expect(finished(events).slice(0, -1)).toContainEqual({ type: "tool_call", id: "a", name: "one", args: { n: 1 } });
  });

  const piece: fc.Arbitrary<Piece> = fc.oneof(
    fc.record({ kind: fc.constantFrom("text", "reasoning"), text: fc.string({ minLength: 1 }) }),
    fc.record({ kind: fc.constant("call"), call: fc.nat(2), id: fc.string(), name: fc.string(), args: fc.string() }),
    fc.record({ kind: fc.constant("other"), block: fc.record({ type: fc.constant("image"), url: fc.webUrl() }) }),
  );

  it("follow each other, lose nothing, and each end once, for random chunks", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const events = eventsOf(pieces);
        const starts = events.filter(({ event }) => event === "content-block-start").map(({ index }) => index);
        expect(starts).toEqual(starts.map((_, at) => at));
        let open: number | undefined;
        const ended = new Set<number>();
        for (const { event, index } of events) {
          if (event === "content-block-start") {
            expect(open).toBeUndefined();
            open = index;
          } else if (event === "content-block-delta") expect(index).toBe(open);
          else {
            expect(index === open || ended.has(index)).toBe(true);
            ended.add(index);
            if (index === open) open = undefined;
          }
        }
        expect([...ended].toSorted((a, b) => a - b)).toEqual(starts);
        const deltasOf = (kind: string): string =>
          pieces.flatMap((one) => (one.kind === kind && "text" in one ? one.text : [])).join("");
        for (const kind of ["text", "reasoning"]) {
          const texts = events.flatMap(({ delta }) => (delta as Record<string, string> | undefined)?.[kind] ?? []);
          expect(texts.join("")).toBe(deltasOf(kind));
        }
      }),
    );
  });
});
