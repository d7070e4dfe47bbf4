import { AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  Attachment,
  readExtras,
  roleOf,
  setOperations,
  splitReasoning,
  wordsOf,
} from "@millrace/engine/sessions/messages/message-fields";
import { fromStored, isHidden, StoredMessage, toStored } from "@millrace/engine/sessions/messages/stored-message";

const now = "2026-05-06T07:08:09.000Z";
const read = (data: unknown) => fromStored(StoredMessage.parse(data), now);

describe("roles", () => {
  it.each([
    [new HumanMessage("x"), "user"],
    [new AIMessage("x"), "assistant"],
    [new SystemMessage("x"), "system"],
    [new ToolMessage({ content: "x", tool_call_id: "c" }), "tool"],
    [new ChatMessage("x", "user"), "user"],
    [new ChatMessage("x", "critic"), "assistant"],
  ])("of %o is %s", (message, role) => {
    expect(roleOf(message)).toBe(role);
  });

  it.each([
    [{ type: "human", content: "x" }, "user"],
    [{ type: "user", content: "x" }, "user"],
    [{ role: "ai", content: "x" }, "assistant"],
    [{ role: "assistant", type: "message", content: "x" }, "assistant"],
    [{ type: "system", content: "x" }, "system"],
    [{ type: "tool", content: "x", tool_call_id: "c", name: "read_file" }, "tool"],
  ])("are read from either form: %j", (data, role) => {
    expect(roleOf(read(data))).toBe(role);
  });
});

describe("the stored form", () => {
  it("is that of the documents: type, content and what is kept beside, with the call for a tool's message", () => {
    const message = new HumanMessage({ id: "m1", content: "hi", additional_kwargs: { timestamp: now } });
    expect(toStored(message)).toEqual({ type: "user", content: "hi", id: "m1", additional_kwargs: { timestamp: now } });
    const result = new ToolMessage({ id: "m2", content: "done", tool_call_id: "c1", name: "read_file" });
    expect(toStored(result)).toMatchObject({ type: "tool", tool_call_id: "c1", name: "read_file" });
  });

  it("gives every message back as it was", () => {
    const text = fc.string({ unit: "binary", maxLength: 40 });
    // What is read from outside never has a field of that name.
    const field = fc.string().filter((name) => name !== "__proto__");
    const kwargs = fc.record({
      timestamp: fc.constant(now),
      metadata: fc.dictionary(field, fc.jsonValue({ maxDepth: 1 })),
    });
    const id = fc.uuid();
    const call = fc.record({ id: fc.uuid(), name: fc.constant("read_file"), args: fc.dictionary(field, text) });
    const messages = fc.oneof(
      fc.record({ id, content: text, additional_kwargs: kwargs }).map((fields) => new HumanMessage(fields)),
      fc.record({ id, content: text, additional_kwargs: kwargs }).map((fields) => new SystemMessage(fields)),
      fc
        .record({ id, content: text, additional_kwargs: kwargs, tool_calls: fc.array(call, { maxLength: 2 }) })
        .map((fields) => new AIMessage(fields)),
      fc
        .record({ id, content: text, additional_kwargs: kwargs, tool_call_id: fc.uuid() })
        .map((fields) => new ToolMessage({ ...fields, name: "read_file", status: "error" })),
    );
    fc.assert(
      fc.property(messages, (message) => {
        const again = read(JSON.parse(JSON.stringify(toStored(message))));
        expect(toStored(again)).toEqual(JSON.parse(JSON.stringify(toStored(message))));
        expect(again.getType()).toBe(message.getType());
      }),
    );
  });

  it("takes what older exports put beside the words, and gives an id and a time where there are none", () => {
    const message = read({
      message_id: "m7",
      role: "assistant",
      content: "ok",
      created_at: "2025-01-15T10:30:15",
      reasoning_content: "because",
      operations: ["Created a.md"],
      llm_metadata: { model_name: "m", input_tokens: 3 },
    });
    expect(message.id).toBe("m7");
    expect(readExtras(message)).toMatchObject({
      timestamp: "2025-01-15T10:30:15",
      reasoning_content: "because",
      operations: ["Created a.md"],
      llm_metadata: { model_name: "m", input_tokens: 3 },
    });
    const bare = read({ role: "user", content: "hi" });
    expect(bare.id).toMatch(/^[0-9a-f-]{36}$/u);
    expect(readExtras(bare).timestamp).toBe(now);
  });

  it("hides system texts and what is marked so", () => {
    expect(isHidden(new SystemMessage("x"))).toBe(true);
    expect(isHidden(new HumanMessage({ content: "x", additional_kwargs: { hidden: true } }))).toBe(true);
    expect(isHidden(new HumanMessage("x"))).toBe(false);
  });
});

describe("what is kept beside the words", () => {
  it("is read with nothing where nothing is, or where something else stands", () => {
    const empty = {
      timestamp: null,
      reasoning_content: "",
      operations: [],
      usage: null,
      attachments: [],
      is_partial: false,
      stop_reason: "",
      web_search_results: [],
      metadata: {},
      llm_metadata: null,
      hidden: false,
    };
    expect(readExtras(new HumanMessage("x"))).toEqual(empty);
    const wrong = { timestamp: 1, operations: "x", usage: [], attachments: [{}], is_partial: "yes", metadata: 3 };
    expect(readExtras(new HumanMessage({ content: "x", additional_kwargs: wrong }))).toEqual(empty);
  });

  it("returns the tokens that the provider counted before those that were noted", () => {
    const usage_metadata = {
      input_tokens: 5,
      output_tokens: 7,
      total_tokens: 12,
      input_token_details: { cache_read: 2 },
    };
    const noted = { usage: { total_tokens: 1 } };
    const counted = { total_tokens: 12, prompt_tokens: 5, completion_tokens: 7, cached_tokens: 2 };
    expect(
      readExtras(Object.assign(new AIMessage({ content: "", additional_kwargs: noted }), { usage_metadata })).usage,
    ).toEqual(counted);
    const old = { total_tokens: 1, prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0 };
    expect(readExtras(new AIMessage({ content: "", additional_kwargs: noted })).usage).toEqual(old);
  });

  it("is written into a new message, and the old one stays as it is", () => {
    const call = { id: "c", name: "t", args: {}, type: "tool_call" as const };
    const message = new AIMessage({
      id: "m",
      content: "half",
      tool_calls: [call],
      additional_kwargs: { timestamp: now },
    });
    const written = setOperations(message, ["Created a.md"]);
    expect(readExtras(written)).toMatchObject({ timestamp: now, operations: ["Created a.md"] });
    expect([written.id, written.content, written.tool_calls]).toEqual(["m", "half", [call]]);
    expect(message.additional_kwargs).toEqual({ timestamp: now });
  });
});

describe("reasoning that a model writes between its words", () => {
  it.each([
    ["no tags", "no tags", ""],
    ["<think>why</think>because", "because", "why"],
    ["  <thinking>\nwhy\n</thinking>\n\nbecause", "because", "why"],
    ["<think>cut off in the mid", "", "cut off in the mid"],
    ["say <think>later</think>", "say <think>later</think>", ""],
    ["<think>a</thinking>b</think>c", "c", "a</thinking>b"],
  ])("of %j is separated", (text, content, reasoning) => {
    expect(splitReasoning(text)).toEqual({ content, reasoning });
    const message = new AIMessage(text);
    expect([wordsOf(message), readExtras(message).reasoning_content]).toEqual([content, reasoning]);
  });

  it("is not looked for in what the user says", () => {
    expect(wordsOf(new HumanMessage("<think>mine</think>x"))).toBe("<think>mine</think>x");
  });
});

describe("attachments", () => {
  const image = { type: "image", path: "pictures/a.png", name: "a.png", mime_type: "image/png", size: 10 };
  it.each([
    [image, null],
    [{ ...image, name: "A.JPEG" }, null],
    [{ ...image, name: "a.jpg" }, null],
    [{ ...image, name: "a.webp" }, null],
    [{ ...image, size: 10 * 1024 * 1024 }, null],
    [{ type: "file", path: "big.bin", name: "big.bin", size: 1e9 }, null],
    [{ ...image, name: "a.gif" }, "name"],
    [{ ...image, name: "png" }, "name"],
    [{ ...image, size: 10 * 1024 * 1024 + 1 }, "size"],
    [{ ...image, mime_type: "text/html" }, "mime_type"],
    [{ ...image, size: -1 }, "size"],
    [{ ...image, type: "video" }, "type"],
    [{ ...image, path: "" }, "path"],
  ])("%j has a problem with: %s", (data, place) => {
    const parsed = Attachment.safeParse(data);
    expect(parsed.error?.issues[0]?.path[0] ?? null).toBe(place);
  });
});
