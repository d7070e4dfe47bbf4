import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { wireText, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../../../tests/support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const list: ModelStep = { toolCalls: [{ name: "list_files", arguments: {} }] };
const moves = (...names: string[]): ModelStep => ({
  toolCalls: names.map((name) => ({
    name: "move_file",
    arguments: { source: name, destination: `texts/${name}` },
    id: `move_${name}`,
  })),
});
/** Only the assistant for documents looks at whether the task itself is done. */
const document = { profile: "document" };
const three = { "a.txt": "a", "b.txt": "b", "c.txt": "c" };
const asked = (flow: TestWorkflow) =>
  flow.events.filter((event) => event.type === "forced_continuation").map(({ kind }) => kind);
const progressIn = (flow: TestWorkflow) =>
  flow.events
    .filter((event) => event.type === "task_progress")
    .map(({ verdict, done, total }) => [verdict, done, total]);

describe("a task of several steps", () => {
  it("goes on when the model stops half way, and ends when all is done", async () => {
    const flow = await start({
      files: three,
      script: [
        list,
        moves("a.txt"),
        { text: "I moved a.txt." },
        moves("b.txt", "c.txt"),
        { text: "All 3 files are in texts now." },
      ],
    });
    const state = await flow.send("Move all txt files to texts", document);
    expect(asked(flow)).toEqual(["file_move"]);
    expect(progressIn(flow)).toEqual([
      ["incomplete", 1, 3],
      ["completed", 3, 3],
    ]);
    const lastWords = wireText(flow.model.requests[3]?.messages.at(-1) ?? { role: "none" });
    expect(lastWords).toMatch(/^Progress: 1 of 3 files are moved\.\n.*b\.txt, c\.txt/u);
    expect((await readdir(join(flow.workspace, "texts"))).toSorted()).toEqual(["a.txt", "b.txt", "c.txt"]);
    expect(state.messages.at(-1)?.text).toBe("All 3 files are in texts now.");
    // What the model was urged to do is no part of the conversation.
    expect(state.messages.filter((message) => message.getType() === "human")).toHaveLength(1);
  });

  it("gives up after five forced rounds, and keeps the last reply", async () => {
    const words = [
      "The first one has gone over.",
      "Texts holds a single document.",
      "Somebody ought to carry on here.",
      "It rains outside, by the way.",
      "Three minus one makes two.",
      "Here the story ends.",
    ];
    const flow = await start({
      files: three,
      handler: (request) => {
        const count = request.messages.filter(({ role }) => role === "assistant").length;
        return count === 0 ? list : count === 1 ? moves("a.txt") : { text: words[count - 2] ?? "No words left." };
      },
    });
    const state = await flow.send("Move all txt files to texts", document);
    expect(asked(flow)).toEqual(["file_move", "file_move", "file_move", "file_move", "file_move"]);
    expect(state.messages.map((message) => message.text)).toContain("Here the story ends.");
    expect(flow.events.filter(({ type }) => type === "agentic_loop.complete")).toMatchObject([
      { end_reason: "guardrail" },
    ]);
  });

  it("stops at once when a forced reply repeats the words before it (GUARD-06)", async () => {
    const same = { text: "Moved one." };
    const flow = await start({ files: three, script: [list, moves("a.txt"), same, same] });
    await flow.send("Move all txt files to texts", document);
    expect(asked(flow)).toEqual(["file_move"]);
  });

  it("is over when its end says nothing of it: the files say that it is done", async () => {
    const flow = await start({ files: three, script: [list, moves("a.txt", "b.txt", "c.txt"), { text: "OK!" }] });
    const state = await flow.send("Move all txt files to texts", document);
    expect(asked(flow)).toEqual([]);
    expect(state.messages.at(-1)?.text).toBe("OK!");
  });

  it.each([
    ["Hello my", [["reply_looks_unfinished", "torn"]]],
    ["hello", []],
    ["It is so because", [["reply_looks_unfinished", "torn"]]],
    ["It is so.", []],
  ])("keeps a reply that looks unfinished, and logs it: %s (TASK-06)", async (text, expected) => {
    const flow = await start({ script: [{ text }] });
    const lines: unknown[] = [];
    flow.services.logger = {
      info: () => undefined,
      warn: (fields: object, line?: string) => lines.push([line, "why" in fields ? fields.why : undefined]),
    };
    const state = await flow.send("Say something", { mode: "free_work" });
    expect(state.messages.at(-1)?.text).toBe(text);
    expect(lines).toEqual(expected);
  });

  it("asks for what a text says when it was read but not summarised", async () => {
    const flow = await start({
      files: { "notes.md": "Build a mill by the river, and call Ann about the wheel." },
      script: [
        { toolCalls: [{ name: "read_file", arguments: { path: "notes.md" } }] },
        { text: "I have looked." },
        { text: "Someone plans to build a mill, and means to call Ann about its wheel." },
      ],
    });
    await flow.send("What does notes.md say?", document);
    expect(asked(flow)).toEqual(["file_summary"]);
  });
});

describe("honest work", () => {
  it.each<[string, Record<string, string>]>([
    ["list the files", three],
    ["move a.txt to texts/a.txt", three],
    ["把 a.txt 移动到 texts/a.txt", three],
    ["read a.txt", { "a.txt": "A mill by the river." }],
    ["what does a.txt say?", { "a.txt": "A mill by the river." }],
    ["a.txt 写了什么", { "a.txt": "河边的水磨坊。" }],
    ["summarise a.txt", { "a.txt": "A mill by the river. It grinds corn. The wheel is new." }],
    ["move a.txt to texts/a.txt and move b.txt to texts/b.txt", three],
    ["create one.md and create two.md", {}],
    ["hello", {}],
    ["谢谢", {}],
  ])("of the offline model is never urged on: %s", async (request, files) => {
    const flow = await start({ offline: true, files });
    await flow.send(request);
    expect(asked(flow)).toEqual([]);
  });
});
