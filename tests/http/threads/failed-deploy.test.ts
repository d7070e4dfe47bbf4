import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

/** Asks a person, or works until the server stops; once the file `mended` exists, the work ends at once. */
const flow = `
  import { existsSync } from "node:fs";
  import { once } from "node:events";
  import { Annotation, interrupt, StateGraph } from "@langchain/langgraph";
  const State = Annotation.Root({
    asks: Annotation(),
    log: Annotation({ reducer: (before, after) => [...before, ...after], default: () => [] }),
  });
  async function work({ asks }, { signal }) {
    if (asks) return { log: ["asked: " + interrupt("Go on?")] };
    if (!existsSync(new URL("mended", import.meta.url))) {
      await once(signal, "abort");
      signal.throwIfAborted();
    }
    return { log: ["worked"] };
  }
  export const graph = new StateGraph(State)
    .addNode("begin", () => ({ log: ["begun"] }))
    .addNode("work", work)
    .addEdge("__start__", "begin")
    .addEdge("begin", "work")
    .compile();
`;

/** Deploys that cannot be loaded: a broken file, and a missing package. */
const broken = [
  ["broken.mjs", "export const graph = new StateGraph("],
  ["missing.mjs", 'import "not-a-known-package";'],
] as const;

let folder: string;
let server: TestServer;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-deploy-"));
  const modules = [["flow.mjs", flow] as const, ...broken];
  for (const [name, text] of modules) await writeFile(join(folder, name), text);
});
afterEach(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

const graphs = (): string => join(folder, "langgraph.json");
const name = (file: string): Promise<void> =>
  writeFile(graphs(), JSON.stringify({ graphs: { flow: `./${file}:graph` } }));

async function deploy(file: string): Promise<void> {
  await name(file);
  await server.close();
  server = await server.restart();
}

it("20 running and interrupted runs survive broken deploys, and all finish after a working one", async () => {
  await name("flow.mjs");
  server = await startTestServer({ graphs: graphs(), drainSeconds: 0.1 });
  const threads = await Promise.all(
    Array.from({ length: 14 }, async () => (await server.client.threads.create()).thread_id),
  );
  const [working, asking] = [threads.slice(0, 8), threads.slice(8)];
  const begin = async (thread: string, input: { asks: boolean }): Promise<[string, string]> => {
    const run = await server.client.runs.create(thread, "flow", { input, multitaskStrategy: "enqueue" });
    return [thread, run.run_id];
  };
  const runs = await Promise.all(working.map((thread) => begin(thread, { asks: false })));
  // Six of them have another run queued behind them.
  const queued = await Promise.all(working.slice(0, 6).map((thread) => begin(thread, { asks: false })));
  await Promise.all(asking.map((thread) => server.client.runs.wait(thread, "flow", { input: { asks: true } })));
  const next = async (thread: string) => (await server.client.threads.getState(thread)).next;
  for (const thread of threads) await expect.poll(() => next(thread)).toEqual(["work"]);
  const statuses = (of: [string, string][]) =>
    Promise.all(of.map(async ([thread, run]) => (await server.client.runs.get(thread, run)).status));
  const questions = () =>
    Promise.all(asking.map(async (thread) => (await server.client.threads.get(thread)).interrupts));
  const asked = await questions();
  const isGoingOn = { running: runs.map(() => "running"), pending: queued.map(() => "pending") };

  for (const [file] of broken) {
    await deploy(file);
    const ready = await server.send("GET", "/health/ready");
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining("No graph is served: flow")]);
    expect({ running: await statuses(runs), pending: await statuses(queued) }).toEqual(isGoingOn);
    expect(await questions()).toEqual(asked);
    const answer = server.client.runs.wait(asking[0] ?? "", "flow", { command: { resume: "lost" } });
    await expect(answer).rejects.toThrow("HTTP 404");
  }

  await writeFile(join(folder, "mended"), "");
  await deploy("flow.mjs");
  for (const [thread, run] of [...runs, ...queued]) await server.client.runs.join(thread, run);
  expect(new Set(await statuses([...runs, ...queued]))).toEqual(new Set(["success"]));
  const once = ["begun", "worked"];
  const logs = await Promise.all(
    working.map(async (thread) => (await server.client.threads.getState<{ log: string[] }>(thread)).values.log),
  );
  expect(logs).toEqual(working.map((_, index) => (index < 6 ? [...once, ...once] : once)));
  expect(await questions()).toEqual(asked);
  const answers = asking.map((thread) => server.client.runs.wait(thread, "flow", { command: { resume: "yes" } }));
  for (const values of await Promise.all(answers)) expect(values).toMatchObject({ log: ["begun", "asked: yes"] });
});
