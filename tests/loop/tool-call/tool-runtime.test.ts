import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isAIMessage, isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { failure } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { createTestOperations } from "../../support/test-storage.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

describe("the tools of one reply", () => {
  it("see what earlier calls of the reply did to the same file", async () => {
    const call = (name: string, args: object, id: string) => ({ name, arguments: { path: "a.txt", ...args }, id });
    const flow = await start({
      files: { "a.txt": "old" },
      script: [
        {
          toolCalls: [
            call("edit_file", { edits: [{ old_string: "old", new_string: "new" }] }, "one"),
            call("read_file", {}, "two"),
          ],
        },
        { text: "done" },
      ],
    });
    const { messages } = await flow.send("Look after a.txt", { mode: "free_work" });
    expect(messages.filter(isToolMessage).map((result) => result.text)).toEqual([
      expect.stringContaining("Changed"),
      "1\tnew",
    ]);
  });

  it("have one effect where the reply holds the same call twice, and a result each", async () => {
    const same = { name: "create_file", arguments: { path: "once.txt", content: "once" } };
    const flow = await start({
      script: [
        {
          toolCalls: [
            { ...same, id: "one" },
            { ...same, id: "two" },
          ],
        },
        { text: "done" },
      ],
    });
    const { messages } = await flow.send("Look after it", { mode: "free_work" });
    expect(messages.filter(isToolMessage).map((result) => result.tool_call_id)).toEqual(["one", "two"]);
    expect(messages.filter(isToolMessage).map((result) => result.status)).toEqual(["success", "success"]);
  });

  it("runs a tool the user chose exactly once, however often the reply calls it (TOOL-08)", async () => {
    const create = (path: string) => ({ name: "create_file", arguments: { path, content: path }, id: path });
    const calls = [create("a.txt"), create("b.txt")];
    const flow = await start({ script: [{ toolCalls: calls }, { toolCalls: [create("c.txt")] }, { text: "done" }] });
    const { messages } = await flow.send("Make a note", { selected_tool: "create_file" });
    const results = messages.filter(isToolMessage);
    expect(results.map(({ status }) => status)).toEqual(["success", "error", "error"]);
    expect(results.at(-1)?.text).toContain("create_file was to be called once, and was.");
    expect(await readFile(join(flow.workspace, "a.txt"), "utf8")).toBe("a.txt");
    expect((await readdir(flow.workspace)).filter((name) => /^[bc]\.txt$/u.test(name))).toEqual([]);
    expect(flow.model.requests[0]?.body).toMatchObject({ tool_choice: { function: { name: "create_file" } } });
    expect(flow.model.requests.at(-1)?.body).not.toHaveProperty("tool_choice");
  });

  it("ask for the chosen tool again while its arguments cannot be used, and then run it once (TOOL-08)", async () => {
    const create = (more: object): ModelStep => ({
      toolCalls: [{ name: "create_file", arguments: { path: "a.txt", ...more } }],
    });
    const flow = await start({ script: [create({}), create({ content: "A" }), { text: "done" }] });
    const { messages } = await flow.send("Make a note", { selected_tool: "create_file" });
    expect(messages.filter(isToolMessage).map((result) => result.status)).toEqual(["error", "success"]);
    expect(await readFile(join(flow.workspace, "a.txt"), "utf8")).toBe("A");
    const forced = flow.model.requests.map(({ body }) => "tool_choice" in body);
    expect(forced).toEqual([true, true, false]);
  });

  it("ask for the chosen tool three times at most, also of a model that calls another one (TOOL-08)", async () => {
    const broken: ModelStep = { toolCalls: [{ name: "create_file", arguments: {} }] };
    const other: ModelStep = { toolCalls: [{ name: "list_files", arguments: { path: "." } }] };
    const flow = await start({ script: [broken, other, broken, { text: "I cannot do that." }] });
    const { messages } = await flow.send("Make a note", { selected_tool: "create_file" });
    expect(messages.filter(isToolMessage).map((result) => result.status)).toEqual(["error", "error", "error"]);
    const forced = flow.model.requests.map(({ body }) => "tool_choice" in body);
    expect(forced).toEqual([true, true, true, false]);
    expect(messages.at(-1)?.text).toContain("cannot");
  });

  it.each([
    ["the word that confirms", "confirm", "success"],
    ["any other word", "why?", "error"],
  ])("let a further tool run beside the chosen one only by the user's word: %s (TOOL-08)", async (_, word, status) => {
    const call = (name: string, id: string) => ({ name, arguments: { path: "a.txt" }, id });
    const flow = await start({
      files: { "a.txt": "1" },
      script: [{ toolCalls: [call("list_files", "one")] }, { toolCalls: [call("read_file", "two")] }, { text: "done" }],
    });
    const chosen = { selected_tool: "list_files" };
    await flow.send("Look around", chosen);
    const asked = (await flow.interrupts()).map(({ value }) => value);
    expect(asked).toMatchObject([{ kind: "chain_confirm", tool: "read_file" }]);
    const { messages } = await flow.answer(word, chosen);
    expect(messages.filter(isToolMessage).map((result) => [result.tool_call_id, result.status])).toEqual([
      ["one", expect.any(String)],
      ["two", status],
    ]);
  });

  it("may take as long as the run says, and the run goes on (TOOL-09, CFG-03)", async () => {
    const waiting = defineTool({
      name: "wait_for_ever",
      description: "Waits.",
      schema: z.object({}),
      effect: "unsafe",
      timeoutSeconds: 60,
      resources: () => [],
      operation: async () => ({ type: "Query" }),
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    const flow = await start({
      script: [{ toolCalls: [{ name: "wait_for_ever", arguments: {} }] }, { text: "It took too long." }],
    });
    flow.services.addedTools = [waiting];
    const limits = { tool_timeout_seconds: 0.05 };
    const { messages } = await flow.send("Wait a little", { mode: "free_work", limits });
    expect(messages.find(isToolMessage)?.text).toContain(
      "Error (timeout): wait_for_ever took longer than 0.05 seconds",
    );
    expect(messages.at(-1)?.text).toBe("It took too long.");
  });

  it("are tried again only as often as the run says (LOOP-03)", async () => {
    let tries = 0;
    const away = defineTool({
      name: "ask_weather",
      description: "Asks for the weather.",
      schema: z.object({}),
      effect: "pure",
      resources: () => [],
      run: async () => {
        tries += 1;
        return failure("network", "away");
      },
    });
    const flow = await start({
      script: [{ toolCalls: [{ name: "ask_weather", arguments: {} }] }, { text: "That is unknown." }],
    });
    flow.services.addedTools = [away];
    await flow.send("How is the weather?", { mode: "free_work", limits: { max_tool_retries: 0 } });
    expect(tries).toBe(1);
  });

  it("have no second call of the chosen tool in a later round (TOOL-08)", async () => {
    const create = (path: string) => ({
      toolCalls: [{ name: "create_file", arguments: { path, content: path }, id: path }],
    });
    const flow = await start({ script: [create("a.txt"), create("b.txt"), { text: "done" }] });
    const { messages } = await flow.send("Make a note", { selected_tool: "create_file" });
    expect(await flow.interrupts()).toEqual([]);
    expect(messages.filter(isToolMessage).map((result) => result.status)).toEqual(["success", "error"]);
    await expect(readFile(join(flow.workspace, "b.txt"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("report what they changed by an event and in their message, and it is kept for undo", async () => {
    const edits = [{ old_string: "1\n", new_string: "1\n2\n" }];
    const update = { name: "edit_file", arguments: { path: "a.txt", edits }, id: "one" };
    const flow = await start({ files: { "a.txt": "1\n" }, script: [{ toolCalls: [update] }, { text: "done" }] });
    const operations = await createTestOperations("session-1");
    flow.services.operations = operations;
    const { messages } = await flow.send("Look after a.txt", { mode: "free_work" });
    const [kept] = (await operations.list("session-1", { limit: 5, offset: 0 })).operations;
    const operation = {
      operation_id: kept?.operation_id,
      path: "a.txt",
      lines_added: 1,
      lines_removed: 0,
      first_line: 2,
    };
    expect(kept).toMatchObject({ status: "success", message_id: messages[1]?.id, run_id: "run-1" });
    expect(flow.events).toContainEqual({
      type: "operation_recorded",
      tool_call_id: "one",
      operation: "modify",
      ...operation,
    });
    expect(messages.find(isToolMessage)?.additional_kwargs["operations"]).toEqual([{ type: "modify", ...operation }]);
  });

  it("are kept in the history with the arguments they were run with, where the model's were broken (ERR-12)", async () => {
    const broken = { name: "read_file", arguments: '{"path": "a.txt", "limit": 5,}', id: "one" };
    const flow = await start({
      files: { "a.txt": "seven" },
      script: [{ toolCalls: [broken] }, { text: "It says seven." }],
    });
    const { messages } = await flow.send("Look at a.txt", { mode: "free_work" });
    const args = { path: "a.txt", limit: 5 };
    expect(messages.filter(isAIMessage)[0]?.tool_calls).toMatchObject([{ name: "read_file", args }]);
    expect(messages.find(isToolMessage)?.text).toBe("1\tseven");
    const sent = JSON.stringify(flow.model.requests[1]?.messages);
    expect(sent).toContain(JSON.stringify(JSON.stringify(args)).slice(1, -1).replaceAll("\\", "\\"));
    expect(sent).not.toContain("__broken");
  });
});
