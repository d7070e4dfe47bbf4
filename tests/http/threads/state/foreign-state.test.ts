import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

let server: TestServer;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-state-"));
  const graphs = join(folder, "langgraph.json");
  const file = fileURLToPath(new URL("../../../support/state-graphs.ts", import.meta.url));
  const names = ["words", "breakpoint", "asksInside", "breakpointInside"];
  const served = Object.fromEntries(names.map((name) => [name, `${file}:${name}`]));
  await writeFile(graphs, JSON.stringify({ graphs: served }));
  server = await startTestServer({ graphs });
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

type Json = Record<string, unknown>;

async function json(method: string, path: string, body?: unknown): Promise<Json> {
  const response = await server.send(method, path, body);
  expect(response.status).toBe(200);
  // The assertions check the content.
  return (await response.json()) as Json;
}

async function threadAfter(graph: string, input: Json, more: Json = {}): Promise<string> {
  const { thread_id } = await server.client.threads.create();
  await server.client.runs.wait(thread_id, graph, { input, ...more });
  return thread_id;
}

describe("a list under messages that is no list of messages", () => {
  const given = ["a", { type: "doc" }, ["user", "b"], { role: "user", content: "c" }, 7, null];
  const kept = async (threadId: string): Promise<unknown> => {
    const { values } = await server.client.threads.getState<{ messages: unknown[] }>(threadId);
    return values.messages;
  };

  test("is stored unchanged by a run, and by a command", async () => {
    const threadId = await threadAfter("words", { messages: given });
    expect(await kept(threadId)).toEqual([...given, "6 before"]);
    const [run] = await server.client.runs.list(threadId);
    expect(run).toMatchObject({ kwargs: { input: { messages: given } } });
    const command = { update: { messages: given }, goto: "count" };
    await server.client.runs.wait(threadId, "words", { command });
    expect(await kept(threadId)).toEqual([...given, "6 before", ...given, "13 before"]);
  });

  test("is stored unchanged by a state update, and by supersteps", async () => {
    const threadId = await threadAfter("words", { messages: [] });
    await server.client.threads.updateState(threadId, { values: { messages: given }, asNode: "count" });
    expect(await kept(threadId)).toEqual(["0 before", ...given]);
    const filled = await json("POST", "/threads", {
      metadata: { graph_id: "words" },
      supersteps: [{ updates: [{ values: { messages: given }, as_node: "count" }] }],
    });
    expect(await kept(String(filled["thread_id"]))).toEqual(given);
  });

  test("is stored unchanged by a batch", async () => {
    const response = await server.send("POST", "/runs/batch", [
      { assistant_id: "words", input: { messages: given }, on_completion: "keep" },
    ]);
    const [run] = (await response.json()) as { thread_id: string; run_id: string }[];
    if (run === undefined) throw new Error("a batch answers with its runs");
    await server.client.runs.join(run.thread_id, run.run_id);
    expect(await kept(run.thread_id)).toEqual([...given, "6 before"]);
  });
});

describe("an interrupted state", () => {
  const rootKeys = [
    "checkpoint",
    "created_at",
    "interrupts",
    "metadata",
    "next",
    "parent_checkpoint",
    "tasks",
    "values",
  ];
  const nestedKeys = rootKeys.filter((key) => key !== "interrupts");
  const taskKeys = ["checkpoint", "error", "id", "interrupts", "name", "path", "result", "state"];
  const keys = (value: unknown): string[] => Object.keys(Object(value)).toSorted();

  test.each(["breakpoint", "asksInside", "breakpointInside"])(
    "of %s has the keys of LangGraph's server",
    async (graph) => {
      const threadId = await threadAfter(graph, { steps: ["in"] }, { metadata: { mine: 1 } });
      const state = await server.client.threads.getState(threadId, undefined, { subgraphs: true });
      expect(keys(state)).toEqual(rootKeys);
      expect(state.tasks.length).toBeGreaterThan(0);
      for (const task of state.tasks) {
        expect(keys(task)).toEqual(taskKeys);
        if (task.state === null) continue;
        expect(keys(task.state)).toEqual(nestedKeys);
        // The run's own metadata is in all states that it wrote.
        expect(task.state?.metadata).toMatchObject({ mine: 1, graph_id: graph, thread_id: threadId });
        for (const inner of task.state?.tasks ?? []) expect(keys(inner)).toEqual(taskKeys);
      }
    },
  );

  test("before a subgraph lacks its metadata", async () => {
    const threadId = await threadAfter("breakpointInside", { steps: ["in"] }, { interruptBefore: ["inside"] });
    const { tasks } = await server.client.threads.getState(threadId, undefined, { subgraphs: true });
    expect(keys(tasks[0]?.state)).toEqual(nestedKeys.filter((key) => key !== "metadata"));
  });

  test("has the result of a parallel task", async () => {
    const threadId = await threadAfter("asksInside", { steps: ["in"] });
    const { tasks } = await server.client.threads.getState(threadId);
    expect(tasks).toMatchObject([
      {
        name: "beside",
        path: ["__pregel_pull", "beside"],
        result: { steps: ["beside"] },
        interrupts: [],
        checkpoint: null,
      },
      {
        name: "inside",
        path: ["__pregel_pull", "inside"],
        result: null,
        interrupts: [{ value: "Go on?" }],
        state: null,
      },
    ]);
  });
});

describe("a copied thread", () => {
  test.each(["words", "breakpoint", "asksInside"])(
    "of %s has the states of its source except for its id",
    async (graph) => {
      const threadId = await threadAfter(graph, graph === "words" ? { messages: ["a"] } : { steps: ["in"] }, {
        metadata: { mine: 1 },
      });
      const copy = await json("POST", `/threads/${threadId}/copy`);
      const copyId = String(copy["thread_id"]);
      const asOrigin = async (path: string): Promise<unknown> => {
        const text = JSON.stringify(await json("GET", `/threads/${copyId}/${path}`));
        return JSON.parse(text.replaceAll(copyId, threadId));
      };
      for (const path of ["state", "state?subgraphs=true", "history"]) {
        expect(await asOrigin(path)).toEqual(await json("GET", `/threads/${threadId}/${path}`));
      }
      expect(await json("GET", `/threads/${copyId}/state`)).toMatchObject({
        metadata: { graph_id: graph, assistant_id: expect.any(String), run_id: expect.any(String), mine: 1 },
      });
    },
  );
});
