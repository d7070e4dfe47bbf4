import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startModelServer } from "@millrace/testing/model-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

/** A thread with a run of `counter`, and a later one of another graph. */
async function threadOfTwo(graph: string): Promise<{ thread: string; first: string; second: string }> {
  const { thread_id: thread } = await server.client.threads.create();
  for (const name of ["counter", graph]) await server.client.runs.wait(thread, name, { input: {}, raiseError: false });
  const [second, first] = await server.client.runs.list(thread);
  return { thread, first: first?.run_id ?? "", second: second?.run_id ?? "" };
}

describe("deleting a run", () => {
  it("keeps the question of a later run, also by another graph", async () => {
    const { thread, first } = await threadOfTwo("asker");
    const before = await server.client.threads.get(thread);
    expect(Object.values(before.interrupts)).toMatchObject([[{ value: { question: "Go on?" } }]]);
    await server.client.runs.delete(thread, first);
    expect(await server.client.threads.get(thread)).toMatchObject({
      status: "interrupted",
      interrupts: before.interrupts,
    });
  });

  it("keeps the error of a later run", async () => {
    const { thread, first } = await threadOfTwo("failing");
    await server.client.runs.delete(thread, first);
    const error = { error: "RangeError", message: "out of luck" };
    expect(await server.client.threads.get(thread)).toMatchObject({ status: "error", error });
  });

  it("keeps the question of the run before, also by another graph", async () => {
    const { thread_id: thread } = await server.client.threads.create();
    for (const name of ["asker", "counter"]) await server.client.runs.wait(thread, name, { input: {} });
    const [last] = await server.client.runs.list(thread);
    await server.client.runs.delete(thread, last?.run_id ?? "");
    expect(await server.client.threads.get(thread)).toMatchObject({ status: "interrupted" });
  });

  it("or cancelling it before it starts keeps the thread's question, also by another graph", async () => {
    const { thread_id: thread } = await server.client.threads.create();
    await server.client.runs.wait(thread, "asker", { input: {} });
    const before = await server.client.threads.get(thread);
    for (const action of ["interrupt", "rollback"] as const) {
      const late = await server.client.runs.create(thread, "counter", { input: {}, afterSeconds: 3_600 });
      await server.client.runs.cancel(thread, late.run_id, true, action);
      const { status, interrupts } = await server.client.threads.get(thread);
      expect({ status, interrupts }).toEqual({ status: "interrupted", interrupts: before.interrupts });
    }
  });

  it("works also if its graph is no longer served", async () => {
    const { thread, second } = await threadOfTwo("asker");
    await server.close();
    const file = fileURLToPath(new URL("../../support/test-graphs.ts", import.meta.url));
    await writeFile(server.config.graphs, JSON.stringify({ graphs: { counter: `${file}:counter` } }));
    server = await server.restart();
    await server.client.runs.delete(thread, second);
    expect((await server.send("GET", `/threads/${thread}/runs/${second}`)).status).toBe(404);
    expect(await server.client.threads.get(thread)).toMatchObject({ status: "idle", interrupts: {} });
  });
});

it("a stopped run of the agent is deleted with all that was stored of its turn", async () => {
  const model = await startModelServer({ script: [{ text: "Good morning." }] });
  const openai = { apiKey: "test-key", baseUrl: model.url };
  const graphs = join(projectFolder, "langgraph.json");
  const other = await startTestServer({ graphs, openai, model: "openai:scripted" });
  try {
    const { threads, runs } = other.client;
    const { thread_id: id } = await threads.create();
    const say = (content: string) => ({ input: { messages: [{ role: "user", content }] } });
    await runs.wait(id, "agent", say("Hello"));
    const before = await threads.getHistory(id);
    model.push({ text: "one two three four", hold: { after: 2, until: new Promise(() => undefined) } });
    const stream = runs.stream(id, "agent", { ...say("Count"), streamMode: "messages" });
    for await (const { event } of stream) if (event === "messages/partial") break;
    const [run] = await runs.list(id);
    await runs.cancel(id, run?.run_id ?? "", true);
    expect(await threads.getHistory(id)).not.toEqual(before);
    await runs.delete(id, run?.run_id ?? "");
    expect(await threads.getHistory(id)).toEqual(before);
  } finally {
    await other.remove();
    await model.close();
  }
});
