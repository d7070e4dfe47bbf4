import { AIMessageChunk } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { callsOf } from "../../../src/loop/reply/reply-calls.ts";
import { usageOf } from "../../../src/loop/reply/reply-message.ts";
import { brokenArguments } from "@millrace/models/messages/broken-arguments";

/** An answer with calls as clients give them: whatever the model wrote. */
function answerWith(calls: { name?: string; args?: unknown; id?: string }[]): AIMessageChunk {
  const answer = new AIMessageChunk("");
  answer.tool_calls = calls.map(({ name = "look", args = {}, id }) => ({
    name,
    // The type promises an object; clients give any JSON.
    args: args as Record<string, unknown>,
    ...(id === undefined ? {} : { id }),
  }));
  return answer;
}

describe("the calls of an answer", () => {
  it.each([
    ["", "unnamed"],
    ["rm -rf /", "rm_-rf__"],
    ["read_file", "read_file"],
    ["x".repeat(300), "x".repeat(64)],
  ])("have a name that a strict provider takes back: %j", (name, expected) => {
    expect(callsOf(answerWith([{ name }]))[0]?.name).toBe(expected);
  });

  it("have a name also where the model wrote none", () => {
    const answer = answerWith([{}]);
    // The type promises a name; clients give what came.
    for (const call of answer.tool_calls ?? []) Reflect.deleteProperty(call, "name");
    expect(callsOf(answer)[0]?.name).toBe("unnamed");
  });

  it("have short ids of their own", () => {
    const ids = callsOf(answerWith(["a", "a", "", "x".repeat(41), "functions.look:0"].map((id) => ({ id })))).map(
      ({ id }) => id,
    );
    expect(new Set(ids).size).toBe(5);
    expect(ids.every((id) => id.length > 0 && id.length <= 40)).toBe(true);
    expect([ids[0], ids[4]]).toEqual(["a", "functions.look:0"]);
  });

  it.each([
    [null, "null"],
    ["notes.txt", '"notes.txt"'],
    [[1, 2], "[1,2]"],
  ])("hold %j as text", (args, text) => {
    const answer = answerWith([{}]);
    Object.assign(answer.tool_calls?.[0] ?? {}, { args });
    expect(callsOf(answer)[0]?.args).toEqual({ [brokenArguments]: text });
  });

  it("hold no arguments that are nested without end", () => {
    let args: unknown = 1;
    for (let depth = 0; depth < 10_000; depth += 1) args = { a: args };
    expect(callsOf(answerWith([{ args }]))[0]?.args).toEqual({ [brokenArguments]: expect.stringContaining("nested") });
  });

  it("are no more than a strict provider takes back", () => {
    expect(callsOf(answerWith(Array.from({ length: 500 }, () => ({}))))).toHaveLength(128);
  });
});

it("counts tokens that a client left out as none", () => {
  const answer = Object.assign(new AIMessageChunk(""), { usage_metadata: { output_tokens: 3 } });
  expect(usageOf(answer)).toEqual({ input_tokens: 0, output_tokens: 3, total_tokens: 0 });
});
