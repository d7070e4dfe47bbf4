import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import { wireText, type ModelRequest, type ModelStep, mayCall } from "@millrace/testing/model-server";
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

const reads = (path: string): ModelStep => ({ toolCalls: [{ name: "read_file", arguments: { path } }] });
const usage = (total: number): NonNullable<ModelStep["usage"]> => ({ input: total - 10, output: 10 });
const notesOf = ({ messages }: ModelRequest): string => wireText(messages.at(-1) ?? { role: "none" });

/** Reads another file at each round as long as it may use tools. */
const busy =
  (text: string, tokens = 100) =>
  (request: ModelRequest): ModelStep =>
    mayCall(request) ? { ...reads(`file-${request.index}`), usage: usage(tokens) } : { text, usage: usage(tokens) };

/** The same call at each round, whatever its result. */
const stubborn = (request: ModelRequest): ModelStep =>
  mayCall(request) ? reads("missing.txt") : { text: "The file is not there." };

interface EndCase {
  name: string;
  options: TestWorkflowOptions;
  limits?: Record<string, unknown>;
  reason: string;
  /** What the final message must say. */
  says: RegExp;
}

const files = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`file-${index}`, `content ${index}`]));
const price = { input: 1_000_000, output: 1_000_000 };

const ends: EndCase[] = [
  { name: "a reply without calls", options: { script: [{ text: "Hello." }] }, reason: "answered", says: /^Hello\.$/u },
  {
    name: "the completion tool",
    options: { script: [{ toolCalls: [{ name: "attempt_completion", arguments: { result: "It is done." } }] }] },
    reason: "completed",
    says: /^It is done\.$/u,
  },
  {
    name: "the limit of rounds",
    options: { files, handler: busy("I have read three.") },
    limits: { max_iterations: 4 },
    reason: "iteration_limit",
    says: /read three/u,
  },
  {
    name: "the limit of rounds, with a model that says nothing",
    options: { files, handler: busy("") },
    limits: { max_iterations: 3 },
    reason: "iteration_limit",
    says: /limit of rounds.*read_file/su,
  },
  {
    name: "the token budget, before the call that would break it",
    options: { files, handler: busy("So far so good.", 1500) },
    limits: { max_tokens: 10_000 },
    reason: "token_limit",
    says: /So far so good/u,
  },
  {
    name: "the token budget, used up by one call",
    options: { files, handler: busy("never asked", 50_000) },
    limits: { max_tokens: 40_000 },
    reason: "token_limit",
    says: /token budget.*read_file/su,
  },
  {
    name: "the cost budget, used up by one call",
    options: { files, handler: busy("never asked", 50_000) },
    limits: { max_cost: 40_000, price },
    reason: "cost_limit",
    says: /cost budget.*read_file/su,
  },
  {
    name: "the time, over once the first call has been made",
    options: { files, handler: busy("I have read one.") },
    limits: { timeout_seconds: 0.001 },
    reason: "timeout",
    says: /read one/u,
  },
  {
    name: "the time, with a model that says nothing",
    options: { files, handler: busy("") },
    limits: { timeout_seconds: 0.001 },
    reason: "timeout",
    says: /time for one turn.*read_file/su,
  },
  {
    name: "a rule against loops",
    options: { handler: stubborn },
    reason: "guardrail",
    says: /not there/u,
  },
  {
    name: "a model that fails after work was done",
    options: { files, script: [reads("file-1"), { fault: { kind: "status", status: 401, message: "bad key" } }] },
    reason: "error",
    says: /could not be asked again.*read_file/su,
  },
  {
    name: "a failed tool, where the run does not go on from one",
    options: { files, script: [reads("missing.txt"), { text: "There is no such file." }] },
    limits: { continue_on_tool_error: false },
    reason: "error",
    says: /^There is no such file\.$/u,
  },
  {
    name: "a failed tool, with a model that says nothing",
    options: { files, handler: ({ index }) => (index === 0 ? reads("missing.txt") : { text: "" }) },
    limits: { continue_on_tool_error: false },
    reason: "error",
    says: /because a tool call failed.*read_file/su,
  },
  {
    name: "an answer after tools that have worked, also there",
    options: { files: { "file-1": "x" }, script: [reads("file-1"), { text: "It says x." }] },
    limits: { continue_on_tool_error: false },
    reason: "answered",
    says: /^It says x\.$/u,
  },
];

describe("every end of a turn", () => {
  it.each(ends)("$name: a final message that is true, and the reason", async ({ options, limits, reason, says }) => {
    const flow = await start(options);
    const { messages } = await flow.send("Look at the files", { mode: "free_work", limits: limits ?? {} });
    const last = messages.at(-1);
    expect(last !== undefined && isAIMessage(last)).toBe(true);
    expect(last?.text).toMatch(says);
    expect(last?.additional_kwargs["end_reason"]).toBe(reason);
    expect(flow.events.filter(({ type }) => type === "agentic_loop.complete")).toEqual([
      expect.objectContaining({ end_reason: reason }),
    ]);
    const listed: BaseMessage[] = messages;
    expect(repairToolPairs(listed)).toBe(listed);
  });

  it("ends with a message in the user's language", async () => {
    const flow = await start({ files, handler: busy("") });
    const { messages } = await flow.send("看看这些文件", { mode: "free_work", limits: { max_iterations: 2 } });
    expect(messages.at(-1)?.text).toMatch(/轮数已达上限.*目前已完成/su);
  });

  it("throws what a stop stops it with, and is cancelled; what it did is kept by the run", async () => {
    const stop = new AbortController();
    const flow = await start({
      files,
      signal: stop.signal,
      handler: (request) => {
        if (request.index === 1) stop.abort();
        return reads("file-1");
      },
    });
    await expect(flow.send("Look at the files", { mode: "free_work" })).rejects.toThrow(/abort/iu);
    expect(flow.model.requests).toHaveLength(2);
  });
});

describe("a run that does not go on from a failed tool (LOOP-03)", () => {
  const deletes: ModelStep = { toolCalls: [{ name: "delete_file", arguments: { path: "old" } }] };

  it("asks the model once more, without tools, and goes on from a call that a person has refused", async () => {
    const flow = await start({
      files: { "old/a": "1" },
      script: [deletes, reads("missing.txt"), { text: "It stays, and missing.txt is not there." }],
    });
    const context = { mode: "free_work", limits: { continue_on_tool_error: false } };
    await flow.send("Tidy up", context);
    await flow.answer(false, context);
    expect(flow.model.requests.map(mayCall)).toEqual([true, true, false]);
  });
});

describe("a model that fails before anything was done", () => {
  it("ends the run with its own error; the user's message stays, and the next one is answered", async () => {
    const flow = await start({
      script: [{ fault: { kind: "status", status: 401, message: "bad key" } }, { text: "Here I am." }],
    });
    await expect(flow.send("Look at the files", { mode: "free_work" })).rejects.toMatchObject({ code: "auth" });
    expect(flow.events).toContainEqual(expect.objectContaining({ type: "agentic_loop.error", error_type: "auth" }));
    const { messages } = await flow.send("And now?", { mode: "free_work" });
    expect(messages.map((message) => message.getType())).toEqual(["human", "human", "ai"]);
    expect(messages.at(-1)?.text).toBe("Here I am.");
  });
});

describe("a budget", () => {
  it("is hard: no model call is made once it is used up", async () => {
    const flow = await start({ files, handler: busy("never asked", 50_000) });
    await flow.send("Look at the files", { mode: "free_work", limits: { max_tokens: 40_000 } });
    expect(flow.model.requests).toHaveLength(1);
  });

  it("ends with a closing call without tools where there is room for one", async () => {
    const flow = await start({ files, handler: busy("So far so good.", 1500) });
    await flow.send("Look at the files", { mode: "free_work", limits: { max_tokens: 10_000 } });
    const last = flow.model.requests.at(-1);
    expect(last === undefined || mayCall(last)).toBe(false);
    expect(last === undefined ? "" : notesOf(last)).toContain("token budget");
  });

  it("of money says nothing where no price is known", async () => {
    const flow = await start({ files, script: [{ ...reads("file-1"), usage: usage(50_000) }, { text: "Done." }] });
    const { messages } = await flow.send("Look", { mode: "free_work", limits: { max_cost: 0.001 } });
    expect(messages.at(-1)?.text).toBe("Done.");
  });
});

describe("a rule against loops", () => {
  it("warns, blocks the call with suggestions, and ends the turn with an answer", async () => {
    const flow = await start({ handler: stubborn });
    const { messages } = await flow.send("Read missing.txt", { mode: "free_work" });
    const blocked = messages
      .filter(isToolMessage)
      .find(({ additional_kwargs }) => additional_kwargs["code"] === "BLOCKED");
    expect(blocked?.text).toMatch(/"blocked":true/u);
    expect(blocked?.text).toMatch(/"suggestions":\["/u);
    expect(flow.events).toContainEqual(
      expect.objectContaining({ type: "loop_detected", stage: "block", reason: expect.any(String) }),
    );
    expect(flow.events).toContainEqual(expect.objectContaining({ type: "loop_detected", stage: "finish" }));
    expect(flow.model.requests.length).toBeLessThan(10);
  });

  it("logs what it found", async () => {
    const flow = await start({ handler: stubborn });
    const lines: unknown[] = [];
    flow.services.logger = { info: () => undefined, warn: (...line: unknown[]) => void lines.push(line) };
    await flow.send("Read missing.txt", { mode: "free_work" });
    expect(lines).toContainEqual([
      expect.objectContaining({ session_id: "session-1", stage: "finish" }),
      "loop_detected",
    ]);
  });

  it("keeps its notes out of the system text and out of the history", async () => {
    const flow = await start({ handler: stubborn });
    const { messages } = await flow.send("Read missing.txt", { mode: "free_work" });
    const systems = flow.model.requests.map((request) => wireText(request.messages[0] ?? { role: "none" }));
    expect(new Set(systems).size).toBe(1);
    expect(messages.filter((message) => message.getType() === "human")).toHaveLength(1);
  });
});
