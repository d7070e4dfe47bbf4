import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import type { BackgroundAgent } from "../../src/agents/background.ts";
import { AppError } from "@millrace/engine/errors/errors";
import { backgroundOf, listBackground } from "../../src/agent-runs/background.ts";
import type { Runs } from "@millrace/engine/runs/runs";
import type { Run, Session } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import { collect, createGate, createSession, never, request } from "../runs/fixtures.ts";
import { createTestStorage } from "../support/test-storage.ts";
import {
  startModelServer,
  wireText,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
} from "@millrace/testing/model-server";
import { agentFiles, askedBy, hands, roundOf, scriptsOf } from "./agent-flow.ts";
import { agentRuns } from "./agent-runs.ts";

let workspace: string;
let model: ModelServer;
let storage: Storage;
let runs: Runs;
let session: Session;
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-background-")));
  await mkdir(join(workspace, ".autocoderagents"));
  for (const [path, text] of Object.entries(agentFiles({ one: {}, two: { tools: "list_files" } }))) {
    await writeFile(join(workspace, path), text);
  }
});
afterEach(async () => {
  await runs.drain(0);
  await model.close();
  await rm(workspace, { recursive: true });
});

async function begin(handler: (request: ModelRequest) => ModelStep | Promise<ModelStep>): Promise<void> {
  model = await startModelServer({ handler });
  storage = createTestStorage();
  runs = agentRuns(storage, workspace, model);
  session = await createSession(storage);
}

const sends = (work: Record<string, string>): ModelStep => hands("background", work);

async function ask(content: string, context: Record<string, unknown> = {}): Promise<Run> {
  const input = { messages: [{ role: "user", content }] };
  return runs.start(session, request("agent", { input, context: { mode: "free_work", ...context } }));
}

async function say(content: string, context?: Record<string, unknown>): Promise<Run> {
  const { run_id } = await ask(content, context);
  return runs.wait(run_id, never);
}

async function messages(id = session.session_id): Promise<BaseMessage[]> {
  const tuple = await storage.checkpointer.getTuple({ configurable: { thread_id: id } });
  // The workflow's state has messages.
  return (tuple?.checkpoint.channel_values["messages"] ?? []) as BaseMessage[];
}

const agents = (): Promise<BackgroundAgent[]> => listBackground({ ...storage }, session);

async function untilOver(agent: BackgroundAgent | undefined): Promise<void> {
  await collect(runs.follow(agent?.run_id ?? "", -1, never));
}

const notesIn = (request: ModelRequest | undefined): string[] =>
  (request?.messages ?? []).map(wireText).filter((text) => text.startsWith("Background work now"));

it("answers at once with the ids, and works on in a session of its own after the turn", async () => {
  const gate = createGate();
  const script = scriptsOf({
    caller: [sends({ one: "Count the files", two: "Read the tasks" }), { text: "They work." }],
    one: [{ text: "There are 3 files." }],
    two: [{ text: "There are no tasks." }],
  });
  await begin(async (asked) => {
    if (askedBy(asked) !== "caller") await gate.pass();
    return script(asked);
  });

  expect((await say("Send them")).status).toBe("success");

  const before = await agents();
  expect(before.map(({ name, task, report }) => ({ name, task, report }))).toEqual([
    { name: "one", task: "Count the files", report: null },
    { name: "two", task: "Read the tasks", report: null },
  ]);
  const result = (await messages()).find(isToolMessage)?.text ?? "";
  expect(result).toContain("2 of 2 agents work in the background now.");
  for (const { session_id, status } of before) {
    expect(result).toContain(session_id);
    expect(["queued", "working"]).toContain(status);
  }

  gate.open();
  for (const agent of before) await untilOver(agent);
  const after = await agents();
  expect(after.map(({ status, report }) => [status, report?.success, report?.end_reason, report?.reply])).toEqual([
    ["finished", true, "answered", "There are 3 files."],
    ["finished", true, "answered", "There are no tasks."],
  ]);
  expect(after.every(({ report }) => (report?.tokens ?? 0) > 0)).toBe(true);
});

it("gives the user's rules only to an agent whose file asks for them", async () => {
  await mkdir(join(workspace, ".autocoderrules"));
  await writeFile(join(workspace, ".autocoderrules/style.md"), "---\nalwaysApply: true\n---\nWrite in verse.");
  for (const [path, text] of Object.entries(agentFiles({ one: { rules: true } }))) {
    await writeFile(join(workspace, path), text);
  }
  await begin((asked) => {
    if (askedBy(asked) !== "caller") return { text: "Done." };
    const isSent = asked.messages.some(({ role }) => role === "tool");
    return isSent ? { text: "Sent." } : sends({ one: "Do it", two: "Do it" });
  });
  await say("Send them");
  for (const agent of await agents()) await untilOver(agent);
  const hasDocument = (name: string): boolean[] =>
    model.requests
      .filter((one) => askedBy(one) === name)
      .map(({ messages: sent }) => sent.map(wireText).join("\n").includes("Write in verse."));
  expect([hasDocument("one"), hasDocument("two")]).toEqual([[true], [false]]);
});

it("gives an agent its own prompt and tools, no agents of its own, and not the caller's conversation", async () => {
  await begin(
    scriptsOf({
      caller: [sends({ one: "Do it", two: "Do it" }), { text: "Sent." }],
      one: [{ text: "Done." }],
      two: [{ text: "Done." }],
    }),
  );
  await say("The secret is blue", { limits: { max_iterations: 7 } });
  for (const agent of await agents()) await untilOver(agent);

  const asked = (name: string): ModelRequest | undefined => model.requests.find((one) => askedBy(one) === name);
  expect(asked("two")?.toolNames).toEqual(["list_files"]);
  expect(asked("one")?.toolNames).toContain("create_file");
  expect(asked("one")?.toolNames).not.toContain("run_named_subagents");
  expect(asked("one")?.toolNames).not.toContain("read_subagent_results");
  expect(asked("one")?.messages.map(wireText).join("\n")).not.toContain("secret");
  const [one] = await agents();
  const run = await storage.runs.get(one?.run_id ?? "");
  expect(run?.kwargs.context).toMatchObject({
    limits: { max_iterations: 7 },
    agent: { user_request: "The secret is blue" },
  });
});

it("reports finished work once in the next turn, and keeps it in view through that turn", async () => {
  await begin(
    scriptsOf({
      caller: [
        sends({ one: "Count" }),
        { text: "Sent." },
        { toolCalls: [{ name: "list_files", arguments: { path: "." }, id: "look" }] },
        { text: "It found 3." },
        { text: "Nothing new." },
      ],
      one: [{ text: "There are 3 files." }],
    }),
  );
  await say("Send one");
  for (const agent of await agents()) await untilOver(agent);
  await say("And now?");
  await say("And now?");

  const asked = model.requests.filter((one) => askedBy(one) === "caller");
  const counts = asked.map((one) => notesIn(one).length);
  // The agent may have finished before the second reply of the first turn: then that one has the note.
  const first = counts.indexOf(1);
  expect(first).toBeGreaterThan(0);
  expect(counts).toEqual(first === 1 ? [0, 1, 0, 0, 0] : [0, 0, 1, 1, 0]);
  expect(notesIn(asked[first])[0]).toContain("There are 3 files.");
  // The history has the user's words and the replies, and which results were reported.
  const history = await messages();
  expect(history.filter((message) => message.getType() === "human")).toHaveLength(3);
  const marks = history.flatMap((message) => message.additional_kwargs["background_told"] ?? []);
  expect(marks).toEqual((await agents()).map(({ session_id }) => session_id));
});

it("lists results when the model asks for them, and does not wait", async () => {
  const gate = createGate();
  const reads: ModelStep = { toolCalls: [{ name: "read_subagent_results", arguments: {}, id: "read" }] };
  const script = scriptsOf({
    caller: [sends({ one: "Count" }), reads, { text: "Not yet." }, reads, { text: "It is 3." }],
    one: [{ text: "There are 3 files." }],
  });
  await begin(async (asked) => {
    if (askedBy(asked) === "one") await gate.pass();
    return script(asked);
  });
  await say("Send one");
  const [agent] = await agents();
  gate.open();
  await untilOver(agent);
  await say("And now?");

  const results = (await messages()).filter(isToolMessage).filter(({ name }) => name === "read_subagent_results");
  expect(results.map(({ text }) => text.split("\n")[0])).toEqual([
    "0 of 1 background agents have finished.",
    "1 of 1 background agents have finished.",
  ]);
  expect(results[1]?.text).toContain("There are 3 files.");
});

it("starts no agent if one of the names is unknown", async () => {
  await begin(scriptsOf({ caller: [sends({ one: "Go", unknown: "Go" }), { text: "I see." }] }));
  await say("Send them");
  expect((await messages()).find(isToolMessage)?.text).toMatch(/no agent named unknown.*Nobody has begun/su);
  expect(await agents()).toEqual([]);
});

it("has no background in a session that is for one run only", async () => {
  await begin(scriptsOf({ caller: [sends({ one: "Go" }), { text: "I see." }] }));
  const input = { messages: [{ role: "user", content: "Send one" }] };
  const context = { mode: "free_work" };
  const run = await runs.start(session, request("agent", { input, context, temporary: true }));
  const values = runs.lastValues(await runs.wait(run.run_id, never));
  expect(JSON.stringify(values?.["messages"])).toContain("The background is not available here.");
  expect(await agents()).toEqual([]);
});

it("stops the agents with the run that is stopped", async () => {
  const gate = createGate();
  const script = scriptsOf({
    caller: [sends({ one: "Count" }), { text: "Never said." }],
    one: [{ text: "Never said." }],
  });
  const second = createGate();
  await begin(async (asked) => {
    if (askedBy(asked) === "one") await gate.pass();
    else if (roundOf(asked) === 1) await second.pass();
    return script(asked);
  });
  const run = await ask("Send one");
  await Promise.all([gate.arrived, second.arrived]);
  await runs.cancel(run.run_id, { action: "interrupt", wait: true });
  const [agent] = await agents();
  await untilOver(agent);
  expect((await storage.runs.get(agent?.run_id ?? ""))?.status).toBe("interrupted");
  expect((await agents())[0]).toMatchObject({
    status: "finished",
    report: { success: false, end_reason: "cancelled" },
  });
  gate.open();
  second.open();
});

it("leaves the agents at work when a run is stopped that has not begun", async () => {
  const gate = createGate();
  const script = scriptsOf({ caller: [sends({ one: "Count" }), { text: "Sent." }], one: [{ text: "3." }] });
  await begin(async (asked) => {
    if (askedBy(asked) === "one") await gate.pass();
    return script(asked);
  });
  await say("Send one");
  await gate.arrived;
  const later = await runs.start(session, request("agent", { after_seconds: 3600, multitask_strategy: "enqueue" }));
  await runs.cancel(later.run_id, { action: "interrupt", wait: true });
  gate.open();
  const [agent] = await agents();
  await untilOver(agent);
  expect((await storage.runs.get(agent?.run_id ?? ""))?.status).toBe("success");
});

it.each([
  ["cancelled", true],
  ["server", false],
] as const)("lets a run that is admitted while its caller is stopped by %s stop with it: %s", async (code, stops) => {
  await begin(() => ({ text: "Sent." }));
  const caller = await say("Hello");
  const stopping = new AbortController();
  const stopped: string[] = [];
  const background = backgroundOf(caller, storage, {
    start: async () => {
      stopping.abort(new AppError(code, "No more."));
      return caller;
    },
    stop: async (runId) => stopped.push(runId),
    activity: () => undefined,
  });
  await background.send({ call_id: "a/0", place: 0, name: "one", task: "Go", context: {} }, stopping.signal);
  expect(stopped).toEqual(stops ? [caller.run_id] : []);
  // Its session was there first: a search for it finds that it has no result.
  expect((await agents()).map(({ run_id, report }) => [run_id, report?.end_reason])).toEqual([[null, "cancelled"]]);
});

it("stops the agents of a session that is to go, also after its turn", async () => {
  const gate = createGate();
  const script = scriptsOf({ caller: [sends({ one: "Count" }), { text: "Sent." }], one: [{ text: "Never said." }] });
  await begin(async (asked) => {
    if (askedBy(asked) === "one") await gate.pass();
    return script(asked);
  });
  await say("Send one");
  await gate.arrived;
  const [agent] = await agents();
  await runs.cancelSession(session.session_id);
  await untilOver(agent);
  expect((await storage.runs.get(agent?.run_id ?? ""))?.status).toBe("interrupted");
  gate.open();
});

it("belongs to its caller's owner, and does not trust metadata about its origin", async () => {
  await begin(scriptsOf({ caller: [sends({ one: "Count" }), { text: "Sent." }], one: [{ text: "3." }] }));
  session = await storage.sessions.create({ ...session, session_id: crypto.randomUUID(), owner: "ann" });
  await say("Send one");
  const [agent] = await agents();
  await untilOver(agent);
  const own = await storage.sessions.get(agent?.session_id ?? "");
  expect(own?.owner).toBe("ann");

  const Metadata = z.record(z.string(), z.unknown());
  const metadata = Metadata.parse(own?.metadata);
  // One claims to be sent from here; the other belongs to another user, under the same id.
  await storage.sessions.create({ ...session, session_id: crypto.randomUUID(), metadata });
  await storage.sessions.create({ ...session, session_id: crypto.randomUUID(), owner: "bob", metadata });
  expect((await agents()).map(({ session_id }) => session_id)).toEqual([agent?.session_id]);
  expect((await messages()).some((message) => isAIMessage(message))).toBe(true);
});
