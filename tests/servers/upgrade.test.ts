import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
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
