import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { runRecord, sessionRecord } from "../contract/records.ts";
import { startPostgres } from "../support/processes/postgres.ts";
import { openGate } from "../support/test-graphs.ts";
import { createServers, type Servers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("servers of a database that a later version has migrated", () => {
  let servers: Servers;
  beforeEach(async () => {
    servers = await createServers(postgres);
  });
  afterEach(() => servers.close());

  it("release their runs, refuse new ones, and say why", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    const gate = crypto.randomUUID();
    const walking = await one.client.runs.create(thread_id, "gated", { input: { gate } });
    const waiting = await one.client.runs.create(thread_id, "counter", { multitaskStrategy: "enqueue", input: {} });
    await expect.poll(async () => (await one.client.runs.get(thread_id, walking.run_id)).status).toBe("running");
    const ready = async (server: typeof one): Promise<unknown> => (await server.send("GET", "/health/ready")).json();
    expect(await ready(one)).toEqual({ status: "ready" });
    expect(await (await one.send("GET", "/server")).json()).toMatchObject({
      servers: { id: expect.any(Number), working: 2, problem: null },
    });
    expect(await (await one.send("GET", "/metrics")).text()).toContain("millrace_servers 2");

    await servers.query("UPDATE schema_version SET min_compatible = 1000");
    const reason = expect.stringContaining("A later version of Millrace has changed the database");
    for (const server of [one, other]) {
      await expect.poll(() => ready(server)).toEqual({ status: "not_ready", reasons: [reason] });
      const refused = await server.send("POST", `/threads/${thread_id}/runs`, { assistant_id: "counter", input: {} });
      expect(refused.status).toBe(503);
    }
    openGate(gate);
    const inHand = "SELECT FROM runs WHERE status IN ('pending', 'running') AND owner IS NOT NULL";
    await expect.poll(() => servers.query(inHand)).toEqual([]);
    expect(await servers.query("SELECT DISTINCT crashes FROM runs")).toEqual([{ crashes: 0 }]);
    // Stored data can be read as before.
    expect((await other.client.runs.get(thread_id, waiting.run_id)).status).toBe("pending");
  });
});

describe.skipIf(postgres === undefined)("servers of two code versions", () => {
  let servers: Servers;
  beforeEach(async () => {
    // Longer than the minute by which a test moves the clock.
    servers = await createServers(postgres, 600);
  });
  afterEach(async () => {
    await servers.close();
    vi.restoreAllMocks();
  });

  const runs = () => servers.query("SELECT run_id, owner::int, code_version FROM runs ORDER BY id");
  /** Has a server begin a run, at its admission or later, and queue another one of another session. */
  const begin = async (storage: OpenedStorage, hasRoom = true): Promise<void> => {
    for (const id of ["begun", "queued"]) {
      await storage.sessions.create(sessionRecord(id));
      await storage.runs.admit(runRecord(id, id), { hasRoom: hasRoom && id === "begun" });
    }
    if (!hasRoom) await storage.runs.claim("begun");
  };
  const acquire = async (storage: OpenedStorage, options = {}): Promise<string[]> =>
    (await storage.runs.acquire(options)).map(({ run_id }) => run_id);

  it.each(["its admission", "a claim"])("leave a run that has begun with %s to one of its version", async (start) => {
    const [one, two] = [await servers.open("1"), await servers.open("2")];
    const [same, third] = [await servers.open("1"), await servers.open("1")];
    await begin(one, start === "its admission");
    await one.close();
    expect(await acquire(two)).toEqual(["queued"]);
    expect(await acquire(same)).toEqual(["begun"]);
    await third.close();
    await two.runs.claim("queued");
    await same.runs.reclaim("begun");
    expect(await runs()).toEqual([
      { run_id: "begun", owner: same.cluster.id, code_version: "1" },
      { run_id: "queued", owner: two.cluster.id, code_version: "2" },
    ]);
    await same.close();
    expect(await acquire(two)).toEqual(["begun"]);
    await two.runs.reclaim("begun");
    expect(await runs()).toMatchObject([{ run_id: "begun", owner: two.cluster.id, code_version: "1" }, {}]);
  });

  it("take a run at once that no live server of its version can execute", async () => {
    const [one, two] = [await servers.open("1"), await servers.open("2")];
    await begin(one);
    await one.close();
    await servers.query(
      "UPDATE runs SET workspace = 'own' WHERE run_id = 'begun'; DELETE FROM runs WHERE run_id = 'queued'",
    );
    const beside = async (graph: string, workspace: string, lease: string): Promise<string[]> => {
      await servers.query(`INSERT INTO servers (host, process, lease_until, graphs, workspaces, code_version)
        VALUES ('elsewhere', 0, now() + interval '${lease}', ARRAY['${graph}'], ARRAY['${workspace}'], '1')`);
      const taken = await acquire(two);
      await servers.query("DELETE FROM servers WHERE host = 'elsewhere'; UPDATE runs SET owner = NULL");
      return taken;
    };
    expect(await beside("agent", "own", "1 hour")).toEqual([]);
    expect(await beside("other", "own", "1 hour")).toEqual(["begun"]);
    expect(await beside("agent", "other", "1 hour")).toEqual(["begun"]);
    expect(await beside("agent", "own", "-1 second")).toEqual(["begun"]);
    // A run that only has to be ended needs no code of its version.
    await servers.query("UPDATE runs SET stop_requested = 'interrupt'");
    expect(await beside("agent", "own", "1 hour")).toEqual(["begun"]);
  });

  it("find what they own without knowing, of whichever version it is", async () => {
    const [one, two] = [await servers.open("1"), await servers.open("2")];
    await begin(one);
    await servers.query(`UPDATE runs SET owner = ${two.cluster.id} WHERE run_id = 'begun'`);
    expect(await acquire(two, { again: true })).toEqual(["begun"]);
  });

  it("take what a stopping server releases, though it is still live", async () => {
    const [one, two] = [await servers.open("1"), await servers.open("2")];
    await begin(one);
    await one.runs.releasePending();
    await one.attempt({ run_id: "begun", session_id: "begun", attempt: 1 }).release();
    expect(await acquire(two)).toEqual(["begun", "queued"]);
    // Under a new id, too.
    const { id } = one.cluster;
    await servers.query(`DELETE FROM servers WHERE id = ${id}`);
    await expect.poll(() => one.cluster.id).not.toBe(id);
    expect(await servers.query("SELECT code_version FROM servers ORDER BY id")).toEqual([
      { code_version: "2" },
      { code_version: null },
    ]);
  });

  it("take runs of any version after a minute", async () => {
    const [idle, two] = [await servers.open("1"), await servers.start({ codeVersion: "2" })];
    const one = await servers.start({ codeVersion: "1", drainSeconds: 0 });
    const gate = crypto.randomUUID();
    const { thread_id } = await one.client.threads.create();
    const { run_id } = await one.client.runs.create(thread_id, "gated", { input: { gate } });
    await expect.poll(async () => (await one.client.runs.get(thread_id, run_id)).status).toBe("running");
    await one.close();
    // The second heartbeat comes after what the first one has led to.
    const heartbeat = async (): Promise<void> => {
      const leases = () => servers.query(`SELECT lease_until::text FROM servers WHERE id <> ${idle.cluster.id}`);
      const before = await leases();
      await expect.poll(leases, { interval: 10 }).not.toEqual(before);
    };
    for (let count = 0; count < 2; count += 1) await heartbeat();
    expect(await runs()).toEqual([{ run_id, owner: null, code_version: "1" }]);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 60_000);
    openGate(gate);
    expect(await two.client.runs.join(thread_id, run_id)).toMatchObject({ passed: true });
  });
});
