import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BackgroundAgent, BackgroundAgents } from "../../src/agents/background.ts";
import { listBackground } from "../../src/agent-runs/background.ts";
import type { Runs } from "@millrace/engine/runs/runs";
import type { Session } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import { backgroundTask } from "../../src/tools/agents/background-task.ts";
import { createGate, createSession, never, request } from "../runs/fixtures.ts";
import { createTestStorage } from "../support/test-storage.ts";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { aWorkspace } from "../support/a-workspace.ts";
import { agentFiles, askedBy, hands, roundOf } from "./agent-flow.ts";
import { agentRuns } from "./agent-runs.ts";

const agent = (name: string, more: Partial<BackgroundAgent> = {}): BackgroundAgent => ({
  session_id: `s-${name}`,
  run_id: `r-${name}`,
  name,
  task: "Go",
  status: "working",
  begun_at: "2026-11-22T00:00:00.000Z",
  report: null,
  cleared: false,
  ...more,
});
const done = agent("done", {
  status: "finished",
  report: { success: true, end_reason: "answered", reply: "It is 3.", tokens: 12, cost: null },
});
const busy = agent("busy");

describe("background_task (TOOL-16)", () => {
  const effectsDone: unknown[] = [];
  beforeEach(() => {
    effectsDone.length = 0;
  });
  const background: BackgroundAgents = {
    send: async () => [],
    list: async () => [done, busy],
    watch: (id) =>
      id === busy.session_id
        ? { iteration: 2, max_iterations: 15, tokens: 90, tool: "read_file", text: "So far" }
        : undefined,
    stop: async ({ name }) => void effectsDone.push(`stop ${name}`),
    clear: async (agents) => void effectsDone.push(`clear ${agents.map(({ name }) => name).join()}`),
  };
  const run = async (input: object, agents: BackgroundAgents | undefined = background) => {
    await using workspace = await aWorkspace();
    const context = { ...workspace.context, server: { background: agents } };
    return await backgroundTask.run(backgroundTask.schema.parse(input), context);
  };

  it.each<[object, RegExp, string[]]>([
    [{ action: "list" }, /2 agents.*done \(s-done\) has finished.*busy \(s-busy\) still works/su, []],
    [{ action: "monitor", session_id: "s-busy" }, /Round 2 of 15, 90 tokens.*read_file.*So far/su, []],
    [{ action: "monitor", session_id: "s-done" }, /has finished.*It is 3\./su, []],
    [{ action: "kill", session_id: "s-busy" }, /busy is stopped/u, ["stop busy"]],
    [{ action: "kill", session_id: "s-done" }, /finished already/u, []],
    [{ action: "cleanup" }, /1 finished agents are put away; 1 are left/u, ["clear done"]],
  ])("%j", async (input, says, effects) => {
    const result = await run(input);
    expect(result.success).toBe(true);
    expect(result.content).toMatch(says);
    expect(effectsDone).toEqual(effects);
  });

  it.each([
    [{ action: "kill" }, /none came.*s-done \(done\), s-busy \(busy\)/u],
    [{ action: "monitor", session_id: "s-else" }, /s-else is none of them/u],
  ])("%j is refused with the agents that there are", async (input, says) => {
    expect(await run(input)).toMatchObject({
      success: false,
      errorType: "not_found",
      content: expect.stringMatching(says),
    });
  });

  it("fails where background agents are not available", async () => {
    await using workspace = await aWorkspace();
    const result = await backgroundTask.run({ action: "list" }, workspace.context);
    expect(result).toMatchObject({ success: false, errorType: "unavailable_tool_mode" });
  });
});

describe("background_task in a turn", () => {
  let workspace: string;
  let model: ModelServer;
  let storage: Storage;
  let runs: Runs;
  let session: Session;
  afterEach(async () => {
    await runs.drain(0);
    await model.close();
    await rm(workspace, { recursive: true });
  });

  it("sees what its agents do, stops one, and puts away what has finished", async () => {
    workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-background-")));
    await mkdir(join(workspace, ".autocoderagents"));
    for (const [path, text] of Object.entries(agentFiles({ one: {} }))) await writeFile(join(workspace, path), text);
    const agents = (): Promise<BackgroundAgent[]> => listBackground({ ...storage }, session);
    const gate = createGate();
    const watches = (action: string, session_id?: string): ModelStep => ({
      toolCalls: [{ name: "background_task", arguments: { action, ...(session_id && { session_id }) } }],
    });
    model = await startModelServer({
      handler: async (asked) => {
        if (askedBy(asked) === "one") {
          await gate.pass();
          return { text: "Never said." };
        }
        const [one] = await agents();
        // The agent has begun when its model is asked.
        if (roundOf(asked) === 1) await gate.arrived;
        const steps = [
          hands("background", { one: "Count" }),
          watches("monitor", one?.session_id),
          watches("kill", one?.session_id),
          watches("cleanup"),
          watches("list"),
          { text: "All is quiet." },
        ];
        return steps[roundOf(asked)] ?? { text: "never asked" };
      },
    });
    storage = createTestStorage();
    runs = agentRuns(storage, workspace, model);
    session = await createSession(storage);
    const input = { messages: [{ role: "user", content: "Count in the background" }] };
    const { run_id } = await runs.start(session, request("agent", { input, context: { mode: "free_work" } }));
    expect((await runs.wait(run_id, never)).status).toBe("success");

    const tuple = await storage.checkpointer.getTuple({ configurable: { thread_id: session.session_id } });
    // The workflow's state has messages.
    const messages = (tuple?.checkpoint.channel_values["messages"] ?? []) as BaseMessage[];
    const results = messages.filter(isToolMessage).filter(({ name }) => name === "background_task");
    expect(results.map(({ text }) => text.split("\n").at(-1))).toEqual([
      "Round 1 of 60, 0 tokens so far.",
      "Background agent one is stopped. What it had done stands.",
      "1 finished agents are put away; 0 are left.",
      "There are no agents in the background.",
    ]);
    // It is not listed any more, and still there for a person to look at.
    expect(await agents()).toMatchObject([{ status: "finished", cleared: true, report: { end_reason: "cancelled" } }]);
    gate.open();
  });
});
