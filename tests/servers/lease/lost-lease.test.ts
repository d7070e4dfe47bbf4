import { FaultProxy } from "@millrace/testing/fault-proxy";
import { afterAll, describe, expect, it } from "vitest";
import { runRecord, sessionRecord } from "../../contract/records.ts";
import { recordLog } from "../../support/processes/record-log.ts";
import { startPostgres } from "../../support/processes/postgres.ts";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";
import { createServers } from "../two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("a lease that two servers lose", { timeout: 120_000 }, () => {
  it("in an outage of the database counts as no crash of their runs", async () => {
    const servers = await createServers(postgres);
    let isAway = false;
    const direct = new URL(servers.url);
    const [host, port] = [direct.searchParams.get("host"), direct.port || "5432"];
    const proxy = new FaultProxy(
      () => (host === null ? Number(port) : `${host}/.s.PGSQL.${port}`),
      () => (isAway ? { kind: "reset", after: 0 } : { kind: "none" }),
    );
    await proxy.listen();
    direct.searchParams.delete("host");
    direct.host = `127.0.0.1:${proxy.port}`;
    const { logger, lines } = recordLog();
    const logged = (text: string) => (): number => lines.filter(({ msg }) => msg === text).length;
    const started: TestServer[] = [];
    try {
      const begun = [];
      for (const gate of [crypto.randomUUID(), crypto.randomUUID()]) {
        const server = await startTestServer({ database: direct.href, leaseSeconds: 4 }, logger);
        started.push(server);
        const { thread_id } = await server.client.threads.create();
        const { run_id } = await server.client.runs.create(thread_id, "gated", { input: { gate } });
        begun.push({ gate, thread_id, run_id });
      }
      const states = () => servers.query("SELECT status, attempt, crashes FROM runs ORDER BY id");
      await expect.poll(states).toEqual(Array(2).fill({ status: "running", attempt: 1, crashes: 0 }));
      isAway = true;
      proxy.cut();
      // The other run may still wait to store its events.
      await expect.poll(logged("run_not_given_back"), { timeout: 30_000 }).toBeGreaterThan(0);
      expect(logged("server_lost")()).toBe(2);
      isAway = false;
      await expect
        .poll(states, { timeout: 30_000 })
        .toEqual(Array(2).fill({ status: "running", attempt: 2, crashes: 0 }));
      for (const { gate, thread_id, run_id } of begun) {
        openGate(gate);
        expect(await started[0]?.client.runs.join(thread_id, run_id)).toMatchObject({ passed: true });
      }
    } finally {
      isAway = false;
      for (const server of started) await server.remove();
      await proxy.close();
      await servers.close();
    }
  });

  it("because a run blocked the process counts as a crash", async () => {
    const lease = 4;
    const servers = await createServers(postgres, lease);
    try {
      const [one] = [await servers.open(), await servers.open()];
      await one.sessions.create(sessionRecord("s1"));
      await one.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
      const { id } = one.cluster;
      // Longer than the server trusts its lease, and shorter than the lease: the other server has not removed it.
      const until = performance.now() + (lease - 1) * 1_000 + 300;
      while (performance.now() < until);
      await expect.poll(() => one.cluster.id).not.toBe(id);
      await expect.poll(() => one.runs.acquire()).toMatchObject([{ run_id: "r1" }]);
      expect(await one.runs.reclaim("r1")).toMatchObject({ attempt: 2, crashes: 1 });
    } finally {
      await servers.close();
    }
  });
});
