import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../support/processes/server-process.ts";
import { startPostgres } from "../support/processes/postgres.ts";
import { openGate } from "../support/test-graphs.ts";
import type { TestServer } from "../support/test-server.ts";
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
const die = async ({ place, gate }) => {
  while (!existsSync(place + "/" + gate)) await sleep(20);
  appendFileSync(place + "/tries", process.pid + "\\n");
  // The server does not let a graph call process.exit.
  process.kill(process.pid, "SIGKILL");
};
export const poison = new StateGraph(z.object({ place: z.string(), gate: z.string() }))
  .addNode("die", die).addEdge(START, "die").addEdge("die", END).compile();
`;

/** Writes the graphs and what a server process needs beside them. */
function writeGraphs(folder: string): void {
  mkdirSync(join(folder, "workspace"));
  writeFileSync(join(folder, "graph.mjs"), graph);
  const graphs = { patient: "./graph.mjs:patient", poison: "./graph.mjs:poison" };
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
}

/** A server that serves the graphs of `folder`, in a process of its own. */
async function startProcess(database: string, folder: string): Promise<ServerProcess> {
  const server = new ServerProcess(mkdtempSync(join(folder, "server-")), join(folder, "workspace"));
  server.configure({
    MILLRACE_DATABASE: database,
    MILLRACE_LEASE_SECONDS: String(leaseSeconds),
    MILLRACE_MODEL: "offline",
    MILLRACE_CONSOLE: "off",
    MILLRACE_GRAPHS: join(folder, "langgraph.json"),
  });
  await server.start();
  return server;
}

describe.skipIf(postgres === undefined)("a server that stops responding", { timeout: 180_000 }, () => {
  it("is taken over by another one, frozen or killed: its late writes are refused, and the times of events go on", async () => {
    const servers = await createServers(postgres);
    const folder = mkdtempSync(join(tmpdir(), "millrace-"));
    const steps = (): string[] => readFileSync(join(folder, "steps"), "utf8").trim().split("\n");
    writeGraphs(folder);
    writeFileSync(join(folder, "steps"), "");
    const [one, other] = await Promise.all([startProcess(servers.url, folder), startProcess(servers.url, folder)]);
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
      // The events of the first attempt have the times of a clock that is ten minutes ahead.
      await servers.query(`CREATE FUNCTION set_ahead() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          NEW.text = jsonb_set(NEW.text::jsonb, '{times,0}', to_jsonb((NEW.text::jsonb #>> '{times,0}')::bigint + 600000));
          RETURN NEW;
        END $$;
        CREATE FUNCTION is_first(key bigint) RETURNS boolean LANGUAGE sql RETURN (SELECT attempt = 1 FROM runs WHERE id = key);
        CREATE TRIGGER set_ahead BEFORE INSERT ON run_events FOR EACH ROW WHEN (is_first(NEW.run)) EXECUTE FUNCTION set_ahead()`);
      const killed = await begin("closed");
      await expect.poll(steps).toEqual(["first", "waits", "waits", "last", "first", "waits"]);
      await one.kill();
      await expect.poll(steps).toHaveLength(7);
      writeFileSync(join(folder, "closed"), "");
      await other.client.runs.join(thread_id, killed.run_id);
      expect(steps()).toEqual(["first", "waits", "waits", "last", "first", "waits", "waits", "last"]);
      const { events } = await servers.open();
      const emitted = await events.read(killed.run_id, -1, 1_000);
      expect(emitted.filter(({ event }) => event === "metadata")).toHaveLength(2);
      const times = emitted.map(({ at = 0 }) => at);
      expect(times[0]).toBeGreaterThan(Date.now());
      expect(times).toEqual(times.toSorted((left, right) => left - right));
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

describe.skipIf(postgres === undefined)("a run that ends the process of each server", { timeout: 180_000 }, () => {
  it("is set aside after three crashes, one server for each, and other threads are served", async () => {
    const servers = await createServers(postgres);
    const folder = mkdtempSync(join(tmpdir(), "millrace-"));
    writeGraphs(folder);
    const [one, other] = await Promise.all([startProcess(servers.url, folder), startProcess(servers.url, folder)]);
    const input = { place: folder, gate: "opened" };
    const tries = (): string[] => readFileSync(join(folder, "tries"), "utf8").trim().split("\n");
    try {
      const { thread_id } = await one.client.threads.create();
      const [first, second] = [String(one.pid), String(other.pid)];
      const { run_id } = await one.client.runs.create(thread_id, "poison", { input });
      writeFileSync(join(folder, input.gate), "");
      expect(await one.ended()).toMatchObject({ signal: "SIGKILL" });
      expect(tries()).toEqual([first]);
      expect(await other.ended()).toMatchObject({ signal: "SIGKILL" });
      expect(tries()).toEqual([first, second]);
      // It may end before it is ready.
      await one.start().catch(() => undefined);
      expect(await one.ended()).toMatchObject({ signal: "SIGKILL" });
      expect(new Set(tries()).size).toBe(3);
      await Promise.all([one.start(), other.start()]);
      await other.client.runs.wait(null, "patient", { input });
      await expect.poll(async () => (await other.client.runs.get(thread_id, run_id)).status).toBe("error");
      expect(
        await servers.query("SELECT crashes, error::jsonb->>'error' AS error FROM runs WHERE status = 'error'"),
      ).toEqual([{ crashes: 3, error: "crash_loop" }]);
      expect(tries()).toHaveLength(3);
    } finally {
      await one.kill();
      await other.kill();
      await servers.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe.skipIf(postgres === undefined)("a server that stops", { timeout: 180_000 }, () => {
  it("leaves runs on their last try, which are taken over one after the other, also those of a third server", async () => {
    const servers = await createServers(postgres);
    try {
      const [one, other] = [await servers.start({ drainSeconds: 0 }), await servers.start()];
      // It has room for its own run only.
      const third = await servers.start({ drainSeconds: 0, maxConcurrentRuns: 1 });
      const [first, second] = [await beginGated(one), await beginGated(third)];
      await servers.query("UPDATE runs SET crashes = 1");
      await one.close();
      const attempts = async (): Promise<unknown[]> =>
        await servers.query("SELECT attempt FROM runs ORDER BY id LIMIT 2");
      await expect.poll(attempts).toEqual([{ attempt: 2 }, { attempt: 1 }]);
      await third.close();
      const owners = "SELECT DISTINCT owner IN (SELECT id FROM servers) AS is_taken FROM runs";
      await expect.poll(() => servers.query(owners)).toEqual([{ is_taken: true }]);
      await other.client.runs.wait(null, "counter", { input: { value: 1 } });
      expect(await attempts()).toEqual([{ attempt: 2 }, { attempt: 1 }]);
      openGate(first.gate);
      openGate(second.gate);
      for (const { thread_id, run_id } of [first, second]) await other.client.runs.join(thread_id, run_id);
    } finally {
      await servers.close();
    }
  });

  it("leaves a stateless run with a key, whose result the other server keeps for a client that asks again", async () => {
    const servers = await createServers(postgres);
    try {
      const [one, other] = [await servers.start({ drainSeconds: 0 }), await servers.start()];
      const gate = crypto.randomUUID();
      const ask = (server: TestServer): Promise<Response> =>
        server.send("POST", "/runs/wait", { assistant_id: "gated", input: { gate } }, { "idempotency-key": gate });
      const lost = ask(one).catch((error: unknown) => error);
      const runs = () => servers.query("SELECT attempt FROM runs WHERE idempotency_key IS NOT NULL");
      await expect.poll(() => servers.query("SELECT FROM runs WHERE status = 'running'")).toHaveLength(1);
      await one.close();
      await lost;
      await expect.poll(runs).toEqual([{ attempt: 2 }]);
      const again = ask(other);
      openGate(gate);
      expect(await (await again).json()).toMatchObject({ passed: true });
      // What another run without a key leaves is removed as soon as it has been read.
      await other.client.runs.wait(null, "counter", { input: { value: 1 } });
      await expect.poll(() => servers.query("SELECT FROM runs WHERE idempotency_key IS NULL")).toEqual([]);
      expect(await runs()).toEqual([{ attempt: 2 }]);
      expect(await (await ask(other)).json()).toMatchObject({ passed: true });
      expect(await runs()).toEqual([{ attempt: 2 }]);
    } finally {
      await servers.close();
    }
  });

  it("leaves the result of a stateless run, which the other server removes when nothing can ask for it any more", async () => {
    const servers = await createServers(postgres);
    try {
      const [one] = [await servers.start(), await servers.start()];
      const body = { assistant_id: "counter", input: { value: 1 } };
      await (await one.send("POST", "/runs/wait", body, { "idempotency-key": "once" })).json();
      expect(await servers.query("SELECT status FROM sessions")).toEqual([{ status: "idle" }]);
      await servers.query("UPDATE runs SET updated_at = '2000-01-01T00:00:00.000Z'");
      await one.close();
      await expect.poll(() => servers.query("SELECT FROM sessions")).toEqual([]);
    } finally {
      await servers.close();
    }
  });
});

/** A run at `server` that waits at its gate. */
async function beginGated({ client }: TestServer): Promise<{ gate: string; thread_id: string; run_id: string }> {
  const gate = crypto.randomUUID();
  const { thread_id } = await client.threads.create();
  const { run_id } = await client.runs.create(thread_id, "gated", { input: { gate } });
  await expect.poll(async () => (await client.runs.get(thread_id, run_id)).status).toBe("running");
  return { gate, thread_id, run_id };
}
