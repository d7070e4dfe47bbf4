import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { readHistory } from "../../../src/tools/conversation/read-history.ts";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { prepareCall, runTool } from "../../../src/tools/runtime/run-tool.ts";
import type { SessionHistory } from "../../../src/tools/runtime/tool.ts";
import { aWorkspace } from "../../support/a-workspace.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";

const messages: BaseMessage[] = Array.from({ length: 300 }, (_, at) => {
  const text =
    at === 4 ? `${"filler ".repeat(400)}The KEY of the vault is 4711.${" filler".repeat(400)}` : `Words of ${at}`;
  return at % 2 === 0
    ? new HumanMessage({ id: `m${at}`, content: text })
    : new AIMessage({ id: `m${at}`, content: text });
});
const stored: ToolResult = {
  success: true,
  code: "OK",
  message: "Read.",
  content: Array.from({ length: 5000 }, (_, at) => `line ${at}`).join("\n"),
};
const conversation: SessionHistory = {
  messages,
  result: async (id) => (id === "reply/0" ? stored : undefined),
};

async function run(input: Record<string, unknown>, history = conversation): Promise<ToolResult> {
  await using workspace = await aWorkspace();
  const prepared = prepareCall(readHistory, input);
  if (prepared.kind !== "ready") return prepared.result;
  return await runTool(
    readHistory,
    prepared.input,
    { ...workspace.context, conversation: { history } },
    { locks: createLocks() },
  );
}

describe("reading what is not shown any more", () => {
  it("finds words of long ago, wherever they stand in a message, and says where", async () => {
    const { content = "" } = await run({ query: "vault key" });
    expect(content).toMatch(/^1 of 300 earlier messages match\./u);
    expect(content).toContain("[message 5, user, id m4]");
    expect(content).toContain("The KEY of the vault is 4711.");
    expect(content.length).toBeLessThan(600);
  });

  it("shows the newest ten of many hits, and says how many there are", async () => {
    const { content = "" } = await run({ query: "words" });
    expect(content).toMatch(/^299 of 300 earlier messages match; the newest 10\./u);
    expect(content.match(/\[message/gu)).toHaveLength(10);
    expect(content).toContain("[message 300, assistant, id m299]");
  });

  it("shows the first ten lines of a result that hold the words, and says how many do", async () => {
    const { content = "" } = await run({ result_id: "reply/0", query: "line" });
    expect(content).toMatch(/^Lines of the result reply\/0 that match: 5000; the first 10\./u);
    expect(content.match(/At offset/gu)).toHaveLength(10);
    const { content: one } = await run({ result_id: "reply/0", query: "line 4999" });
    expect(one).toMatch(/^Lines of the result reply\/0 that match: 1\.\n/u);
  });

  it.each([
    [{ query: "nowhere to be found" }, "None of the 300 earlier messages"],
    [{ message_id: "m10" }, "Words of 10"],
    [{ first: 299 }, "Messages 299 to 300 of 300."],
    [{ first: 1, last: 300 }, "More follow: first 5."],
    [{ result_id: "reply/0", query: "line 4321" }, "At offset"],
  ])("answers %j", async (input, expected) => {
    const { success, content = "" } = await run(input);
    expect(success).toBe(true);
    expect(content).toContain(expected);
    expect(content.length).toBeLessThanOrEqual(4500);
  });

  it("gives all of a long result, part by part", async () => {
    let text = "";
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const { content = "" } = await run({ result_id: "reply/0", offset });
      text += content.slice(content.indexOf("\n") + 1);
      const next = /More follows: offset (\d+)\./u.exec(content)?.[1];
      offset = next === undefined ? undefined : Number(next);
    }
    expect(text).toBe(stored.content);
  });

  it("looks into the newest cut results too, as far as there is room, and says how to read on there", async () => {
    const cut = (at: number, characters: number): BaseMessage =>
      new ToolMessage({
        id: `cut${at}`,
        tool_call_id: `call${at}`,
        name: "read_file",
        content: "line 0 [… cut …] line 4999",
        additional_kwargs: { whole_result: { id: `reply/${at}`, characters } },
      });
    const size = (stored.content ?? "").length;
    const asked: string[] = [];
    const results = Array.from({ length: 70 }, (_, at) => cut(at, at === 69 ? 20_000_000 : size));
    const history: SessionHistory = {
      messages: [...messages, ...results],
      result: async (id) => {
        asked.push(id);
        return id === "reply/0" ? undefined : stored;
      },
    };
    const { content = "" } = await run({ query: "line 4321" }, history);
    expect(content).toMatch(/^50 of 370 earlier messages match; the newest 10\./u);
    const place = (stored.content ?? "").indexOf("line 4321");
    expect(content).toContain(
      `read_file, id cut68]\nIn what its result does not show, result_id "reply/68", offset ${place}`,
    );
    // The one of 20 MB is passed over.
    expect(asked).toEqual(Array.from({ length: 50 }, (_, at) => `reply/${68 - at}`));
    const { content: gone } = await run({ query: "line 4321" }, { ...history, messages: [cut(0, size)] });
    expect(gone).toContain("None of the 1 earlier messages");
  });

  it.each([
    [{}, "missing_parameter"],
    [{ message_id: "other" }, "not_found"],
    [{ result_id: "other/0" }, "not_found"],
    [{ first: 301 }, "invalid_parameter"],
    [{ first: 5, last: 2 }, "invalid_parameter"],
    [{ query: "" }, "invalid_parameter"],
    [{ offset: -1, message_id: "m1" }, "invalid_parameter"],
  ])("refuses %j", async (input, errorType) => {
    expect(await run(input)).toMatchObject({ success: false, errorType });
  });
});
