import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";
import type * as graphs from "./changed-graphs.ts";

type GraphName = keyof typeof graphs;

const file = join(projectFolder, "tests/http/threads/changed-graphs.ts");
let server: TestServer;
afterEach(() => server.remove());

/** Serves one of the graphs as `flow`, with the existing data. */
async function serve(name: GraphName): Promise<void> {
  const path = join(dirname(server.config.dataDir), "langgraph.json");
  await writeFile(path, JSON.stringify({ graphs: { flow: `${file}:${name}` } }));
  await server.close();
  server = await server.restart({ graphs: path });
}

const Values = z.looseObject({ log: z.array(z.string()) });
const Status = z.object({
  error: z.object({ message: z.string() }).nullable(),
  graph: z.object({ version: z.string(), last_version: z.string(), missing_nodes: z.array(z.string()) }),
});

/** A thread that waits for an answer, or at a breakpoint; then its graph is replaced. */
async function waitingThread(before: GraphName, after: GraphName): Promise<string> {
  server = await startTestServer();
  await serve(before);
  const { thread_id } = await server.client.threads.create();
  await server.client.runs.wait(thread_id, "flow", { input: { log: [] } });
  expect((await server.client.threads.get(thread_id)).status).toBe("interrupted");
  await serve(after);
  return thread_id;
}

/** Answers all open questions, or continues from a breakpoint; returns the log at the end. */
async function goOn(thread: string, checkpoint_id?: string): Promise<string[]> {
  const { interrupts } = await server.client.threads.get(thread);
  const ids = Object.values(interrupts ?? {}).flatMap((asked) => asked.flatMap(({ id }) => id ?? []));
  const resume = Object.fromEntries(ids.map((id) => [id, "yes"]));
  const values = await server.client.runs.wait(thread, "flow", {
    ...(ids.length > 0 && checkpoint_id === undefined ? { command: { resume } } : { input: null }),
    ...(checkpoint_id !== undefined && { checkpoint: { checkpoint_ns: "", checkpoint_id, checkpoint_map: null } }),
  });
  return Values.parse(values).log;
}

const wholeStatus = async (thread: string) =>
  Status.parse(await (await server.send("GET", `/threads/${thread}/status`)).json());
const statusOf = async (thread: string) => (await wholeStatus(thread)).graph;

describe("an interrupted thread continues if other nodes of its graph have changed", () => {
  it.each<[before: GraphName, after: GraphName, log: string[]]>([
    ["before", "before", ["write", "ask: yes", "send"]],
    ["before", "sendRenamed", ["write", "ask: yes", "send"]],
    ["before", "nodeAdded", ["write", "ask: yes", "check", "send"]],
    ["before", "firstAdded", ["write", "ask: yes", "send"]],
    ["before", "sendRemoved", ["write", "ask: yes"]],
    ["workers", "splitRenamed", ["split", "worker: yes", "worker: yes"]],
    ["nested", "innerOtherRenamed", ["write", "ask: yes", "send"]],
    ["paused", "before", ["write"]],
  ])("%s → %s", async (before, after, log) => {
    const thread = await waitingThread(before, after);
    const { version, last_version, missing_nodes } = await statusOf(thread);
    expect(missing_nodes).toEqual([]);
    expect(version === last_version).toBe(before === after || before === "paused");
    expect(await goOn(thread)).toEqual(log);
  });
});

describe("a thread that was interrupted at a deleted node", () => {
  const cases: [before: GraphName, after: GraphName, missing: string[], log: string[]][] = [
    ["before", "askRenamed", ["ask"], ["write", "ask: yes", "send"]],
    ["before", "askRemoved", ["ask"], ["write", "ask: yes", "send"]],
    ["before", "allRenamed", ["ask"], ["write", "ask: yes", "send"]],
    ["both", "rightRenamed", ["right"], ["left: yes", "right: yes", "join"]],
    ["both", "leftRenamed", ["left"], ["left: yes", "right: yes", "join"]],
    ["both", "bothRenamed", ["left", "right"], ["left: yes", "right: yes", "join"]],
    ["workers", "workersRenamed", ["worker"], ["split", "worker: yes", "worker: yes"]],
    ["nested", "innerRenamed", ["inside|ask"], ["write", "ask: yes", "send"]],
    ["nested", "outerRenamed", ["inside"], ["write", "ask: yes", "send"]],
    ["paused", "askRenamed", ["ask"], ["write"]],
  ];

  it.each(cases)("%s → %s is refused, and continues when the node is back", async (before, after, missing, log) => {
    const thread = await waitingThread(before, after);
    const { interrupts } = await server.client.threads.get(thread);
    const { version, last_version, missing_nodes } = await statusOf(thread);
    expect(missing_nodes).toEqual(missing);
    expect(version).not.toBe(last_version);
    const refusal = expect.objectContaining({ status: 409, message: expect.stringContaining(missing[0] ?? "") });
    await expect(goOn(thread)).rejects.toEqual(refusal);
    await expect(goOn(thread)).rejects.toThrow("no longer has");
    expect((await server.client.threads.get(thread)).interrupts).toEqual(interrupts);
    await serve(before);
    expect(await goOn(thread)).toEqual(log);
  });

  it.each(cases)("%s → %s continues without the step once it was skipped", async (before, after) => {
    const thread = await waitingThread(before, after);
    await server.send("POST", `/threads/${thread}/state`, { values: null, as_node: "__end__" });
    expect((await statusOf(thread)).missing_nodes).toEqual([]);
    expect(await server.client.threads.get(thread)).toMatchObject({ status: "idle", interrupts: {} });
    const values = await server.client.runs.wait(thread, "flow", { input: { log: ["again"] } });
    expect(Values.parse(values).log).toContain("again");
  });

  it.each(cases)("%s → %s continues from the last checkpoint that fits", async (before, after) => {
    const thread = await waitingThread(before, after);
    const refused: unknown = await goOn(thread).catch((error: unknown) => error);
    const checkpoint = /checkpoint ([0-9a-f-]{36})/u.exec(String(refused))?.[1];
    await goOn(thread, checkpoint);
    expect((await statusOf(thread)).missing_nodes).toEqual([]);
  });

  it("accepts a new message, as any interrupted thread does", async () => {
    const thread = await waitingThread("before", "askRenamed");
    const values = await server.client.runs.wait(thread, "flow", { input: { log: ["again"] } });
    expect(Values.parse(values).log).toEqual(["write", "again", "write"]);
    expect((await statusOf(thread)).missing_nodes).toEqual([]);
  });
});

it("the answer to one of two questions is kept while the node of the other question is missing", async () => {
  const thread = await waitingThread("both", "both");
  const { interrupts } = await server.client.threads.get(thread);
  const asked = Object.values(interrupts ?? {}).flat();
  const idOf = (question: string) => asked.find(({ value }) => value === question)?.id ?? "";
  const answer = (question: string, value: string) =>
    server.client.runs.wait(thread, "flow", { command: { resume: { [idOf(question)]: value } } });
  await answer("left?", "early");
  await serve("rightRenamed");
  expect((await statusOf(thread)).missing_nodes).toEqual(["right"]);
  await expect(answer("right?", "lost")).rejects.toThrow("no longer has");
  await serve("both");
  expect(Values.parse(await answer("right?", "late")).log).toEqual(["left: early", "right: late", "join"]);
});

it("a run interrupted at a deleted node ends with an error, and continues when the node is back", async () => {
  server = await startTestServer({ drainSeconds: 0 });
  await serve("working");
  const { thread_id } = await server.client.threads.create();
  const { run_id } = await server.client.runs.create(thread_id, "flow", { input: { log: [] } });
  await expect.poll(async () => (await server.client.threads.getState(thread_id)).next).toEqual(["work"]);
  await serve("workRenamed");
  await expect.poll(async () => (await server.client.runs.get(thread_id, run_id)).status).toBe("error");
  const { error, graph } = await wholeStatus(thread_id);
  expect(error?.message).toContain('the node "work"');
  expect(graph.missing_nodes).toEqual(["work"]);
  await serve("workBack");
  expect(await goOn(thread_id)).toEqual(["write", "work"]);
});
