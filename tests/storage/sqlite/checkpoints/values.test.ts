import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { ChatPromptValue } from "@langchain/core/prompt_values";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSaver, type OpenSaver } from "./open-saver.ts";

let folder: string;
let opened: OpenSaver;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "values-"));
  opened = openSaver(join(folder, "values.db"));
});
afterAll(() => {
  opened.close();
  rmSync(folder, { recursive: true, force: true });
});

function roundTrip(value: unknown): Promise<unknown> {
  return opened.saver.codec.decode("thread", opened.saver.codec.encode("thread", value));
}

const key = fc.oneof(fc.string(), fc.constantFrom("$", "__proto__", "constructor", "lc", "toString", "0", "10", "2"));
const anything = fc.anything({
  key,
  maxDepth: 4,
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withTypedArray: true,
  withSparseArray: true,
  withUnicodeString: true,
});

describe("a value is read as it was written", () => {
  test("for 10,000 values of all kinds", async () => {
    await fc.assert(
      fc.asyncProperty(anything, async (value) => {
        // Not `toStrictEqual`, which takes a key named "constructor" for the class.
        expect(isDeepStrictEqual(await roundTrip(value), value)).toBe(true);
      }),
      { numRuns: 10_000 },
    );
  });

  test("for bytes and buffers of any length", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const value = { bytes, buffer: Buffer.from(bytes), plain: bytes.buffer.slice(0), list: [bytes, "text", bytes] };
        expect(await roundTrip(value)).toStrictEqual(value);
      }),
    );
  });

  test("for data that looks like a tag or like a serialised class", async () => {
    const values = [
      { $: ["m", 1] },
      { $: ["lc", "{}"] },
      { $: { $: ["u"] } },
      [{ $: ["hole"] }],
      { lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"], kwargs: { content: "no" } },
      { lc: 2, type: "undefined" },
      JSON.parse('{"__proto__":{"polluted":true},"nested":{"__proto__":[new_]}}'.replace("[new_]", "[1]")),
    ];
    for (const value of values) expect(await roundTrip(value)).toStrictEqual(value);
    expect(Object.hasOwn({}, "polluted") || "polluted" in {}).toBe(false);
  });

  test("for regular expressions, URLs, errors and snapshots", async () => {
    const error = Object.assign(new RangeError("too far", { cause: "a cause" }), { code: "E1" });
    const value = {
      expression: /a+/giu,
      address: new URL("https://example.org/a?b=c"),
      snapshot: new DeltaSnapshot([1, 2]),
    };
    expect(await roundTrip(value)).toStrictEqual(value);
    const back = await roundTrip(error);
    expect(back).toBeInstanceOf(RangeError);
    expect(back).toMatchObject({ message: "too far", cause: "a cause", code: "E1" });
  });

  test("except functions, which are left out, and cycles, which are cut", async () => {
    const circle: Record<string, unknown> = { name: "circle", method: () => 1, list: [() => 1] };
    circle["self"] = circle;
    expect(await roundTrip(circle)).toStrictEqual({ name: "circle", list: [null], self: "[Circular]" });
    const message = new AIMessage({ content: "own", id: "own", additional_kwargs: {} });
    message.additional_kwargs["message"] = message;
    expect(await roundTrip(message)).toMatchObject({ content: "own" });
  });
});

const messages: Record<string, BaseMessage> = {
  human: new HumanMessage({ content: [{ type: "text", text: "hi" }], id: "h1", name: "Ann" }),
  withoutId: new HumanMessage("no id"),
  ai: new AIMessage({
    content: "answer",
    id: "a1",
    tool_calls: [{ id: "c1", name: "tool", args: { deep: [1] }, type: "tool_call" }],
    invalid_tool_calls: [{ id: "c2", name: "bad", args: "{", error: "Malformed args.", type: "invalid_tool_call" }],
    additional_kwargs: { reasoning_content: "because" },
    response_metadata: { model_name: "m" },
  }),
  // Parsed, because the types allow `usage_metadata` only beside other fields.
  aiWithUsage: new AIMessage(
    JSON.parse('{"content":"counted","usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}'),
  ),
  standard: new AIMessage({
    content: [{ type: "text", text: "v1" }],
    response_metadata: { output_version: "v1" },
    tool_calls: [{ id: "c3", name: "tool", args: {}, type: "tool_call" }],
  }),
  chunk: new AIMessageChunk({
    content: "part",
    id: "k1",
    tool_call_chunks: [{ id: "c4", name: "tool", args: '{"a":1}', index: 0, type: "tool_call_chunk" }],
  }),
  humanChunk: new HumanMessageChunk("part"),
  tool: new ToolMessage({
    content: "result",
    tool_call_id: "c1",
    status: "error",
    artifact: {
      bytes: new Uint8Array([1, 2, 255]),
      prompt: new ChatPromptValue({ messages: [new HumanMessage("page")] }),
    },
  }),
  system: new SystemMessage("be kind"),
  chat: new ChatMessage({ content: "x", role: "judge" }),
  function: new FunctionMessage({ content: "x", name: "f" }),
  remove: new RemoveMessage({ id: "h1" }),
};

describe("a message keeps its class and all its fields", () => {
  test.each(Object.entries(messages))("%s", async (_name, message) => {
    const back = (await roundTrip({ nested: [message, "beside it"] })) as { nested: [BaseMessage, string] }; // the shape above
    expect(back.nested[0].constructor).toBe(message.constructor);
    expect(JSON.parse(JSON.stringify(message))).toMatchObject(JSON.parse(JSON.stringify(back.nested[0])));
    const without = (of: BaseMessage): object => Object.assign({}, of, { lc_kwargs: undefined });
    expect(without(back.nested[0])).toEqual(without(message));
  });

  test("fields that a subclass adds are kept on the nearest known class", async () => {
    class OwnMessage extends AIMessage {
      mood = "good";
    }
    const back = await roundTrip(new OwnMessage("hello"));
    expect(back).toBeInstanceOf(AIMessage);
    expect(back).toMatchObject({ content: "hello", mood: "good" });
  });

  test("another class of LangChain is read as that class", async () => {
    const back = (await roundTrip(messages["tool"])) as ToolMessage; // it was one
    expect(back.artifact.prompt).toBeInstanceOf(ChatPromptValue);
    expect(back.artifact.prompt.messages[0]).toBeInstanceOf(HumanMessage);
    expect(back.artifact.prompt.messages[0].content).toBe("page");
  });

  test("a class that LangChain's loader does not allow stays plain data", async () => {
    const record = { lc: 1, type: "constructor", id: ["node", "child_process", "exec"], kwargs: { command: "ls" } };
    expect(await roundTrip({ toJSON: undefined, made: Object.create({ toJSON: () => record }) })).toMatchObject({
      made: record,
    });
  });
});

describe("an item is stored once", () => {
  const items = (): unknown => opened.database.raw.prepare("SELECT sum(count) AS n FROM checkpoint_items").get();

  test("a second value with the same messages takes a few bytes", () => {
    const history = Array.from(
      { length: 1000 },
      (_, index) => new HumanMessage({ content: "x".repeat(100), id: `${index}` }),
    );
    opened.saver.codec.encode("long", { history });
    const before = items();
    expect(opened.saver.codec.encode("long", { again: { history } }).length).toBeLessThan(60);
    expect(items()).toEqual(before);
  });

  test("a chunk that is no item is stored inline", () => {
    const before = items();
    opened.saver.codec.encode("long", new AIMessageChunk({ content: "token", id: "1" }));
    expect(items()).toEqual(before);
  });

  test("items of a transaction that was rolled back are written again", async () => {
    const message = new HumanMessage("kept");
    expect(() =>
      opened.database.transaction(() => {
        opened.saver.codec.encode("undone", message);
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(await opened.saver.codec.decode("undone", opened.saver.codec.encode("undone", message))).toEqual(message);
  });
});
