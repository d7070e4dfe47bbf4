import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessageChunk, isToolMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { workflow } from "../../src/graph/workflow.ts";
import type { Runs } from "@millrace/engine/runs/runs";
import type { Session } from "@millrace/engine/storage/records";
import { collect, createSession, never, request } from "../runs/fixtures.ts";
import { read } from "../runs/stop/stop-bench.ts";
import { createTestStorage, type TestStorage } from "../support/test-storage.ts";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { agentFiles, hands, scriptsOf } from "./agent-flow.ts";
import { agentRuns } from "./agent-runs.ts";

let workspace: string;
let model: ModelServer;
let runs: Runs;
let storage: TestStorage;
let session: Session;
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-agents-")));
  await mkdir(join(workspace, ".autocoderagents"));
  for (const [path, text] of Object.entries(agentFiles({ one: {}, two: {} }))) {
    await writeFile(join(workspace, path), text);
  }
});
afterEach(async () => {
  await runs.drain(0);
  await model.close();
  await rm(workspace, { recursive: true });
});

async function open(scripts: Record<string, ModelStep[]>): Promise<void> {
  model = await startModelServer({ handler: scriptsOf(scripts) });
  storage = createTestStorage();
  runs = agentRuns(storage, workspace, model);
  session = await createSession(storage);
}

const works = (patch: Parameters<typeof request>[1]) =>
  runs.start(
    session,
    request("agent", {
      input: { messages: [{ role: "user", content: "Share the work" }] },
      context: { mode: "free_work" },
      ...patch,
    }),
  );

async function messagesNow(): Promise<BaseMessage[]> {
  const tuple = await storage.checkpointer.getTuple({ configurable: { thread_id: session.session_id } });
  const messages = tuple?.checkpoint.channel_values["messages"];
  // The workflow's state has messages.
  return (messages ?? []) as BaseMessage[];
}

const makes: ModelStep = { toolCalls: [{ name: "add_item", arguments: { title: "first" }, id: "make" }] };

const deletes = (path: string): ModelStep => ({
  toolCalls: [{ name: "delete_file", arguments: { path }, id: `delete-${path}` }],
});

describe("events of agents for readers", () => {
  const scripts = {
    caller: [hands("parallel", { one: "Go", two: "Go" }), { text: "Both are done." }],
    one: [{ text: "Words of one." }],
    two: [{ text: "Words of two." }],
  };

  it("does not mix their words into the reply", async () => {
    await open(scripts);
    const run = await works({ stream_mode: ["messages-tuple", "custom"] });
    const reader = read(runs.follow(run.run_id, -1, never));
    await reader.over;
    expect([...reader.text().values()].map(({ content }) => content).join("")).toBe("Both are done.");
    expect(reader.custom().filter(({ type }) => type === "subagent_completed")).toHaveLength(2);
    const results = reader.events.filter((event) => event.event === "messages" && event.data instanceof ToolMessage);
    expect(results).toHaveLength(1);
  });

  it("takes none of their words for the conversation's: it streams once, when its own reply begins", async () => {
    const words = "Many words of an agent that come one by one";
    await open({ ...scripts, one: [{ text: words, delayMs: 1 }], two: [{ text: words, delayMs: 1 }] });
    const run = await works({ stream_mode: ["messages-tuple", "custom"] });
    const reader = read(runs.follow(run.run_id, -1, never));
    await reader.over;
    const states = reader.custom().filter((event) => event.type === "conversation_state");
    expect(states.filter(({ state }) => state === "StreamingResponse")).toMatchObject([{ accumulated_text: "Both" }]);
  });

  it("has their text under their own namespace, with the agent's name, for readers with stream_subgraphs", async () => {
    await open(scripts);
    const run = await works({ stream_mode: ["messages-tuple"], stream_subgraphs: true });
    const events = await collect(runs.follow(run.run_id, -1, never));
    const texts = new Map<string, string>();
    const places = new Set<string>();
    for (const event of events) {
      if (event.event !== "messages" || !(event.data instanceof AIMessageChunk)) continue;
      const name = typeof event.metadata["sub_agent"] === "string" ? event.metadata["sub_agent"] : "caller";
      texts.set(name, (texts.get(name) ?? "") + event.data.text);
      if (name !== "caller") places.add(event.namespace.slice(0, 2).join("|"));
    }
    expect(Object.fromEntries(texts)).toEqual({
      one: "Words of one.",
      two: "Words of two.",
      caller: "Both are done.",
    });
    expect([...places]).toEqual([
      expect.stringMatching(/^free_work:[^|]+\|sub_agent:/u),
      expect.stringMatching(/^free_work:[^|]+\|sub_agent:/u),
    ]);
  });

  it("is in the drawing: the loop has a step for agents, and in it the same loop without them", async () => {
    const nodes = Object.keys((await workflow.compile().getGraphAsync({ xray: true })).nodes);
    expect(nodes).toContain("free_work:sub_agent:call_model");
    expect(nodes).toContain("free_work:delegate");
    expect(nodes.filter((name) => name.includes("sub_agent:sub_agent"))).toEqual([]);
    await open(scripts);
  });
});

describe("a stop", () => {
  it("ends the agents with their caller, keeps what they did, and says so", async () => {
    const holds: ModelStep = {
      text: "Long words of two that never end",
      hold: { after: 3, until: new Promise(() => undefined) },
    };
    await open({
      // The words of the stop are the second reply.
      caller: [hands("parallel", { one: "Go", two: "Go" }), { text: "Never asked." }, { text: "I look first." }],
      one: [makes, { text: "Made it and more", hold: { after: 2, until: new Promise(() => undefined) } }],
      two: [holds],
    });
    const run = await works({ stream_mode: ["messages-tuple", "custom", "values"], stream_subgraphs: true });
    const reader = read(runs.follow(run.run_id, -1, never));
    const received = (): string => [...reader.text().values()].map(({ content }) => content).join();
    await reader.until(() => received().includes("Made it") && received().includes("Long words"));
    const ended = await runs.cancel(run.run_id, { action: "interrupt", wait: true });
    await reader.over;
    expect(ended?.status).toBe("interrupted");
    const messages = await messagesNow();
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai", "tool", "ai"]);
    expect(messages.find(isToolMessage)?.text).toMatch(/agents were at work.*add_item \(finished\)/u);
    expect(await storage.tasks.find({ staging: true })).toHaveLength(1);
    expect(reader.custom().find(({ type }) => type === "stop_completed")).toMatchObject({
      partial: null,
      tool_calls_pending: ["hand"],
    });
    const next = await works({ input: { messages: [{ role: "user", content: "What was done?" }] } });
    await collect(runs.follow(next.run_id, -1, never));
    expect((await messagesNow()).at(-1)?.text).toBe("I look first.");
    expect(model.unexpected).toEqual([]);
  });
});

describe("questions of agents", () => {
  it("are the session's: listed, answered by id, one after the other, and an answer ends only its own", async () => {
    await open({
      caller: [hands("parallel", { one: "Go", two: "Go" }), { text: "Both have reported." }],
      one: [deletes("a.txt"), { text: "a is gone." }],
      two: [deletes("b.txt"), { text: "b stays." }],
    });
    for (const name of ["a.txt", "b.txt"]) await writeFile(join(workspace, name), name);
    const run = await works({});
    await collect(runs.follow(run.run_id, -1, never));
    const { session_id } = session;
    const pending = await storage.approvals.pending(session_id);
    expect(pending).toHaveLength(2);
    expect((await storage.sessions.get(session_id))?.status).toBe("interrupted");
    const idOf = (path: string) =>
      pending.find(({ value }) => JSON.stringify(value).includes(path))?.interrupt_id ?? "";
    const answers = async (id: string, type: string): Promise<void> => {
      const command = { resume: { [id]: { decisions: [{ type }] } } };
      const { input: _, ...resumed } = request("agent", { command });
      const next = await runs.start(session, resumed);
      await collect(runs.follow(next.run_id, -1, never));
    };
    await answers(idOf("b.txt"), "reject");
    expect((await storage.approvals.pending(session_id)).map(({ interrupt_id }) => interrupt_id)).toEqual([
      idOf("a.txt"),
    ]);
    await answers(idOf("a.txt"), "approve");
    expect(await storage.approvals.pending(session_id)).toEqual([]);
    expect((await storage.sessions.get(session_id))?.status).toBe("idle");
    const messages = await messagesNow();
    expect(messages.find(isToolMessage)?.text).toMatch(/2 of 2.*a is gone.*b stays/su);
    expect(messages.at(-1)?.text).toBe("Both have reported.");
    expect([existsSync(join(workspace, "a.txt")), existsSync(join(workspace, "b.txt"))]).toEqual([false, true]);
    expect(model.requestCount).toBe(6);
  });

  it("do not block a new message: the agents' work is reported, and what they asked about is not done", async () => {
    await open({
      caller: [hands("parallel", { one: "Go", two: "Go" }), { text: "Something else then." }],
      one: [makes, deletes("a.txt")],
      two: [{ text: "Nothing to do." }],
    });
    await writeFile(join(workspace, "a.txt"), "a");
    const run = await works({});
    await collect(runs.follow(run.run_id, -1, never));
    expect(await storage.approvals.pending(session.session_id)).toHaveLength(1);
    const next = await works({ input: { messages: [{ role: "user", content: "Let us do something else" }] } });
    await collect(runs.follow(next.run_id, -1, never));
    const messages = await messagesNow();
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai", "tool", "human", "ai"]);
    expect(messages.find(isToolMessage)?.text).toMatch(/agents were at work.*add_item \(finished\)/u);
    expect(messages.at(-1)?.text).toBe("Something else then.");
    expect(await storage.approvals.pending(session.session_id)).toEqual([]);
    expect(existsSync(join(workspace, "a.txt"))).toBe(true);
    expect(model.unexpected).toEqual([]);
  });
});
