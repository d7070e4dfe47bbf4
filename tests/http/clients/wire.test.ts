import { AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toWire, toWireJson } from "@millrace/engine/http/responses/wire";

const parse = (value: unknown): unknown => JSON.parse(toWireJson(value));

test("a message is flattened at any depth, with its type", () => {
  const message = new HumanMessage({ content: "hi", id: "1", name: "bob" });
  const flat = { type: "human", content: "hi", id: "1", name: "bob", additional_kwargs: {}, response_metadata: {} };
  expect(parse({ deep: [{ messages: [message] }] })).toEqual({ deep: [{ messages: [flat] }] });
});

const withUsage = Object.assign(new AIMessage("x"), { usage_metadata: { input_tokens: 1, output_tokens: 2 } });

test("a message has the fields of its own toDict", () => {
  const messages = [
    new AIMessage({ content: "", id: "2", tool_calls: [{ name: "t", args: { a: 1 }, id: "c", type: "tool_call" }] }),
    new AIMessageChunk({ content: "x", tool_call_chunks: [{ name: "t", args: "{", id: "c", index: 0 }] }),
    new ToolMessage({ content: "r", tool_call_id: "c", status: "error", artifact: { z: 1 } }),
    // Core 1.4 puts the versions that made it there; tools have their own field.
    new ToolMessage({ content: "r", tool_call_id: "c", metadata: { versions: { "@langchain/core": "1.4.0" } } }),
    new RemoveMessage({ id: "3" }),
  ];
  for (const message of messages) {
    const { type, data } = message.toDict();
    expect(parse(message)).toMatchObject(JSON.parse(JSON.stringify({ ...data, type })));
  }
  expect(parse(withUsage)).toMatchObject({ usage_metadata: { input_tokens: 1 } });
});

test("a chunk has the type ai, as on the JS servers", () => {
  expect(parse(new AIMessageChunk("x"))).toMatchObject({ type: "ai", content: "x" });
});

test("errors, maps, sets, bytes and big integers have a JSON form", () => {
  expect(
    parse({
      error: new TypeError("no"),
      map: new Map([["a", 1n]]),
      set: new Set([1, 2]),
      bytes: new Uint8Array([1, 2, 3]),
      date: new Date(0),
    }),
  ).toEqual({
    error: { error: "TypeError", message: "no" },
    map: { a: "1" },
    set: [1, 2],
    bytes: "AQID",
    date: "1970-01-01T00:00:00.000Z",
  });
  expect(toWireJson(undefined)).toBe("null");
});

test("a cyclic value is cut", () => {
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  expect(toWireJson(loop)).toContain("nested deeper than 100 levels");
});

test("plain JSON is returned unchanged and not copied", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      expect(toWire(value)).toBe(value);
      expect(toWireJson(value)).toBe(JSON.stringify(value));
    }),
    { numRuns: 300 },
  );
});
