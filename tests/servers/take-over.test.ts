import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../support/processes/server-process.ts";
import { startPostgres } from "../support/processes/postgres.ts";
import { createServers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** The lease of a server here, in seconds. */
const leaseSeconds = 3;

/** A graph that records each of its steps in a file, and waits between them until another file exists. */
const graph = `
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { END, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
const note = (step) => async ({ place }) => (appendFileSync(place + "/steps", step + "\\n"), {});
const wait = async ({ place, gate }) => {
  appendFileSync(place + "/steps", "waits\\n");
  while (!existsSync(place + "/" + gate)) await sleep(20);
  return {};
};
export const patient = new StateGraph(z.object({ place: z.string(), gate: z.string() }))
  .addNode("first", note("first")).addNode("wait", wait).addNode("last", note("last"))
  .addEdge(START, "first").addEdge("first", "wait").addEdge("wait", "last").addEdge("last", END).compile();
`;

describe.skipIf(postgres === undefined)("a server that stops responding", { timeout: 180_000 }, () => {
  it("is taken over by another one, whether it was frozen or killed, and its late writes are refused", async () => {
    const servers = await createServers(postgres);
    const folder = mkdtempSync(join(tmpdir(), "millrace-"));
    const start = async (): Promise<ServerProcess> => {
      const server = new ServerProcess(mkdtempSync(join(folder, "server-")), join(folder, "workspace"));
      server.configure({
        MILLRACE_DATABASE: servers.url,
        MILLRACE_LEASE_SECONDS: String(leaseSeconds),
        MILLRACE_MODEL: "offline",
        MILLRACE_CONSOLE: "off",
        MILLRACE_GRAPHS: join(folder, "langgraph.json"),
      });
      await server.start();
      return server;
    };
    const steps = (): string[] => readFileSync(join(folder, "steps"), "utf8").trim().split("\n");
    mkdirSync(join(folder, "workspace"));
    writeFileSync(join(folder, "graph.mjs"), graph);
    writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs: { patient: "./graph.mjs:patient" } }));
    writeFileSync(join(folder, "steps"), "");
    const [one, other] = await Promise.all([start(), start()]);
    const { pid = 0 } = one;
    try {
      const { thread_id } = await one.client.threads.create();
      const begin = (gate: string) =>
        one.client.runs.create(thread_id, "patient", { input: { place: folder, gate }, multitaskStrategy: "enqueue" });
      const frozen = await begin("opened");
      await expect.poll(steps).toEqual(["first", "waits"]);
      process.kill(pid, "SIGSTOP");
      await expect.poll(steps).toEqual(["first", "waits", "waits"]);
      writeFileSync(join(folder, "opened"), "");
      process.kill(pid, "SIGCONT");
      await other.client.runs.join(thread_id, frozen.run_id);
      const killed = await begin("closed");
      await expect.poll(steps).toEqual(["first", "waits", "waits", "last", "first", "waits"]);
      await one.kill();
      await expect.poll(steps).toHaveLength(7);
      writeFileSync(join(folder, "closed"), "");
      await other.client.runs.join(thread_id, killed.run_id);
      expect(steps()).toEqual(["first", "waits", "waits", "last", "first", "waits", "waits", "last"]);
      expect(await servers.query("SELECT status, attempt, crashes FROM runs")).toEqual([
        { status: "success", attempt: 2, crashes: 1 },
        { status: "success", attempt: 2, crashes: 1 },
      ]);
    } finally {
      await one.kill();
      await other.kill();
      await servers.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
