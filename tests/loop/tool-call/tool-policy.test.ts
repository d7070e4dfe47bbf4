import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { readChainAnswer } from "../../../src/loop/tool-call/chain.ts";
import { afterWaiting } from "../../../src/loop/services.ts";
import { readQuestion, resumeValue } from "@millrace/engine/sessions/questions/questions";
import { tools } from "../../../src/tools/index.ts";
import type { ToolHook } from "../../../src/tools/runtime/hooks.ts";
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

const creates = (...paths: string[]) => ({
  toolCalls: paths.map((path) => ({ name: "create_file", arguments: { path, content: path }, id: path })),
});
const guarded = { mode: "free_work", tool_policy: "guarded" };
const exists = (flow: TestWorkflow, path: string): Promise<boolean> =>
  access(join(flow.workspace, path)).then(
    () => true,
    () => false,
  );

it.each([
  ["native", { toolCalls: [{ name: "list_files", arguments: {} }] }],
  // Such a call begins while the reply is still written.
  ["text", { text: '<tool_use>\n<invoke name="list_files">\n</invoke>\n</tool_use>\n' }],
])(
  "each request to the model and each %s call of a tool waits once for the server's rate of its kind (QUEUE-04)",
  async (tool_protocol, call) => {
    const flow = await start({ stream: true, script: [call, { text: "Nothing is there." }] });
    const taken: string[] = [];
    flow.services.modelRate = { acquire: async () => void taken.push("model") };
    flow.services.toolRate = { acquire: async () => void taken.push("tool") };
    const { messages } = await flow.send("Look around", { mode: "free_work", tool_protocol });
    expect(messages.filter(isToolMessage).map(({ status }) => status)).toEqual(["success"]);
    expect(taken).toEqual(["model", "tool", "model"]);
  },
);

it("a call that has waited for the rate when it began early waits again before each retry (QUEUE-04)", async () => {
  const flow = await start({ script: [] });
  let taken = 0;
  const { toolRate } = afterWaiting({ ...flow.services, toolRate: { acquire: async () => void (taken += 1) } });
  const counts: number[] = [];
  for (const signal of Array.from({ length: 3 }, () => new AbortController().signal)) {
    await toolRate?.acquire(signal);
    counts.push(taken);
  }
  expect(counts).toEqual([0, 1, 2]);
});

/** The largest number of calls that were at work at once. */
function watch(flow: TestWorkflow): { most: number } {
  const seen = { most: 0 };
  let now = 0;
  const hook: ToolHook = {
    name: "watch",
    before: () => {
      now += 1;
      seen.most = Math.max(seen.most, now);
    },
    after: () => {
      now -= 1;
    },
  };
  flow.services.hooks = [hook];
  return seen;
}

describe("the tool policy", () => {
  it.each([
    ["serial", 1],
    ["auto", 3],
  ])("%s runs at most %i of a reply's calls at once, and every one of them", async (tool_policy, most) => {
    const paths = ["a", "b", "c", "d"];
    const flow = await start({ script: [creates(...paths), { text: "done" }] });
    const seen = watch(flow);
    const { messages } = await flow.send("Make four files", { mode: "free_work", tool_policy });
    expect(messages.filter(isToolMessage).map(({ tool_call_id, status }) => [tool_call_id, status])).toEqual(
      paths.map((path) => [path, "success"]),
    );
    expect(seen.most).toBe(most);
  });

  it("that does not exist is refused with what may stand there", async () => {
    const flow = await start({ script: [{ text: "hello" }] });
    await expect(flow.send("Make a file", { tool_policy: "free" })).rejects.toThrow(/tool_policy/);
  });
});

describe("a guarded turn", () => {
  it("runs one tool, and the next one only after the word that confirms", async () => {
    const flow = await start({ script: [creates("a"), creates("b"), { text: "done" }] });
    await flow.send("Make two files", guarded);
    expect(await exists(flow, "a")).toBe(true);
    expect(await exists(flow, "b")).toBe(false);
    const [asked] = await flow.interrupts();
    expect(asked?.value).toMatchObject({
      kind: "chain_confirm",
      tool: "create_file",
      tool_call_id: "b",
      question: expect.stringContaining("confirm"),
      keywords: expect.arrayContaining(["confirm", "确认"]),
      actionRequests: [{ name: "create_file", args: { path: "b", content: "b" } }],
    });
    expect(flow.events).toContainEqual({
      type: "tool_status",
      tool_call_id: "b",
      tool_name: "create_file",
      status: "awaiting_confirmation",
    });
    await flow.answer("确认");
    expect(await readFile(join(flow.workspace, "b"), "utf8")).toBe("b");
    expect(await flow.interrupts()).toEqual([]);
  });

  it.each([
    ["other words", "make it blue instead", "make it blue instead"],
    ["a no", { decisions: [{ type: "reject", message: "enough" }] }, "enough"],
    ["edited arguments", { type: "edit", args: { path: "c", content: "c" } }, "did not confirm"],
    ["nonsense", { what: 1 }, "did not confirm"],
  ])("takes %s for a refusal, which the model reads and answers", async (_, answer, expected) => {
    const flow = await start({ script: [creates("a"), creates("b"), { text: "Only a was made." }] });
    await flow.send("Make two files", guarded);
    const { messages } = await flow.answer(answer);
    const refused = messages.findLast(isToolMessage);
    expect(refused).toMatchObject({ tool_call_id: "b", status: "error" });
    expect(refused?.additional_kwargs).toMatchObject({ code: "CHAIN_DECLINED", errorType: "denied" });
    expect(refused?.text).toContain(expected);
    expect(messages.at(-1)?.text).toBe("Only a was made.");
    expect([await exists(flow, "b"), await exists(flow, "c")]).toEqual([false, false]);
  });

  it("runs only the first call of a reply, and asks about each further tool", async () => {
    const flow = await start({
      script: [creates("a", "b"), creates("b"), creates("c"), { text: "done" }],
    });
    const first = await flow.send("Make three files", guarded);
    expect(first.messages).toHaveLength(1);
    expect(await exists(flow, "b")).toBe(false);
    await flow.answer("yes", guarded);
    expect([await exists(flow, "b"), await exists(flow, "c")]).toEqual([true, false]);
    await flow.answer(true, guarded);
    expect(await exists(flow, "c")).toBe(true);
  });

  it("asks only once about a call that a rule asks about anyway, and again when it has become such a one", async () => {
    const deletes = { toolCalls: [{ name: "delete_file", arguments: { path: "old.txt" }, id: "gone" }] };
    const flow = await start({ files: { "old.txt": "1" }, script: [creates("a"), deletes, { text: "done" }] });
    await flow.send("Tidy up", guarded);
    const [asked] = await flow.interrupts();
    expect(asked?.value).toMatchObject({ kind: "confirmation", tool_call_id: "gone" });
    await flow.answer("yes");
    expect(await flow.interrupts()).toEqual([]);
    expect(await exists(flow, "old.txt")).toBe(false);
  });

  it("begins anew with the user's next message", async () => {
    const flow = await start({ script: [creates("a"), { text: "one" }, creates("b"), { text: "two" }] });
    await flow.send("Make a file", guarded);
    await flow.send("Make another file", guarded);
    expect(await flow.interrupts()).toEqual([]);
    expect(await exists(flow, "b")).toBe(true);
  });

  it("does not count a call that was refused, and ends without asking", async () => {
    const unknown = { toolCalls: [{ name: "fly", arguments: {}, id: "fly" }] };
    const completes = { toolCalls: [{ name: tools.attempt_completion.name, arguments: { result: "It is there." } }] };
    const flow = await start({ script: [unknown, creates("a"), completes] });
    const { messages } = await flow.send("Make a file", guarded);
    expect(await flow.interrupts()).toEqual([]);
    expect(messages.at(-1)?.text).toContain("It is there.");
  });
});

describe("the question of a guarded turn", () => {
  const value = {
    kind: "chain_confirm",
    question: "?",
    actionRequests: [{ name: "read_file", args: {}, description: "?" }],
    reviewConfigs: [{ actionName: "read_file", allowedDecisions: ["approve", "reject", "respond", "answer"] }],
  };

  it.each([
    [{ type: "approve" as const }, true],
    [{ type: "answer" as const, text: "确认。" }, true],
    [{ type: "respond" as const, text: "OK" }, true],
    [{ type: "respond" as const, text: "ok, but later" }, false],
    [{ type: "reject" as const }, false],
  ])("takes the decision %o", (decision, confirms) => {
    const answer = readChainAnswer(resumeValue(readQuestion(value), decision));
    expect(answer.kind === "confirmed").toBe(confirms);
  });

  it.each([
    [{ type: "answer", text: "确认" }],
    [{ type: "respond", args: "OK" }],
    [[{ type: "response", args: "confirm" }]],
    [{ decisions: [{ type: "respond", message: "yes" }] }],
  ])("takes the word that confirms as clients resume with it: %j", (answer) => {
    expect(readChainAnswer(answer)).toEqual({ kind: "confirmed" });
  });

  it("keeps the text of any other answer, in the forms clients resume with", () => {
    const answer = { decisions: [{ type: "respond", message: "make it blue instead" }] };
    expect(readChainAnswer(answer)).toEqual({ kind: "declined", comment: "make it blue instead" });
  });

  it("takes no edit", () => {
    expect(() => resumeValue(readQuestion(value), { type: "edit", args: {} })).toThrow(/approve, reject/);
  });
});
