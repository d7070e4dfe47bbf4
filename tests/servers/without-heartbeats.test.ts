import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { TestServer } from "../support/test-server.ts";
import { startPostgres } from "../support/processes/postgres.ts";
import { openGate } from "../support/test-graphs.ts";
import { createServers, type Servers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** Without heartbeats, servers find what only a heartbeat would show as soon as a notification makes them look. */
describe.skipIf(postgres === undefined)("two servers without heartbeats", () => {
  let servers: Servers;
  let one: TestServer;
  let other: TestServer;
  beforeEach(async () => {
    const intervals = vi.spyOn(globalThis, "setInterval").mockImplementation(() => setTimeout(() => undefined, 0));
    servers = await createServers(postgres, 600);
    [one, other] = [await servers.start(), await servers.start()];
    intervals.mockRestore();
  });
  afterEach(async () => {
    await servers.close();
  });

  /** A run at `server` that waits at its gate. */
  async function startGated(
    { client }: TestServer,
    multitaskStrategy: "enqueue" | "interrupt" = "enqueue",
    thread?: string,
  ) {
    const gate = crypto.randomUUID();
    const thread_id = thread ?? (await client.threads.create()).thread_id;
    const { run_id } = await client.runs.create(thread_id, "gated", { input: { gate }, multitaskStrategy });
    return { gate, thread_id, run_id };
  }
  const statusOf = async ({ thread_id, run_id }: { thread_id: string; run_id: string }): Promise<string> =>
    (await one.client.runs.get(thread_id, run_id)).status;

  it("stop each other's runs, by a cancel and by a run that interrupts them", async () => {
    const cancelled = await startGated(one);
    await expect.poll(() => statusOf(cancelled)).toBe("running");
    await other.client.runs.cancel(cancelled.thread_id, cancelled.run_id, true);
    expect(await statusOf(cancelled)).toBe("interrupted");
    const interrupted = await startGated(one);
    await expect.poll(() => statusOf(interrupted)).toBe("running");
    const next = await startGated(other, "interrupt", interrupted.thread_id);
    await expect.poll(() => statusOf(next)).toBe("running");
    expect(await statusOf(interrupted)).toBe("interrupted");
    openGate(next.gate);
    expect(await one.client.runs.join(next.thread_id, next.run_id)).toMatchObject({ passed: true });
  });

  it("stop the background agents of a thread, and the runs of a deleted assistant", async () => {
    const parent = await startGated(other);
    const sent = await one.client.threads.create({ metadata: { background_of: parent.thread_id } });
    const child = await startGated(one, "enqueue", sent.thread_id);
    await expect.poll(() => statusOf(child)).toBe("running");
    await other.client.runs.cancel(parent.thread_id, parent.run_id, true);
    await one.client.runs.join(child.thread_id, child.run_id);
    expect(await statusOf(child)).toBe("interrupted");
    const { assistant_id } = await one.client.assistants.create({ graphId: "gated" });
    const { thread_id } = await one.client.threads.create();
    await one.client.runs.create(thread_id, assistant_id, { input: { gate: crypto.randomUUID() } });
    await other.client.assistants.delete(assistant_id);
    expect(await servers.query(`SELECT FROM runs WHERE assistant_id = '${assistant_id}'`)).toEqual([]);
  });

  it("start a run that was queued behind a run of the other server", async () => {
    // The heartbeat with which a server starts to listen is over when it has stopped a run for the other one.
    const before = await startGated(other);
    await one.client.runs.cancel(before.thread_id, before.run_id, true);
    const first = await startGated(one);
    await expect.poll(() => statusOf(first)).toBe("running");
    const behind = await startGated(other, "enqueue", first.thread_id);
    // The end of a later run shows that the server knows of the queued one.
    await other.client.runs.wait(null, "counter", { input: { value: 1 } });
    openGate(first.gate);
    await expect.poll(() => statusOf(behind)).toBe("running");
    openGate(behind.gate);
    await one.client.runs.join(behind.thread_id, behind.run_id);
  });

  it("roll back a run that ends before its server knows of the rollback: no checkpoint is left", async () => {
    await servers.query(`CREATE TABLE states_at_end (count int);
      CREATE FUNCTION note_states() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO states_at_end SELECT count(*) FROM checkpoint_rows AS c JOIN checkpoint_runs AS r ON r.key = c.run
          WHERE r.run_id = NEW.run_id;
        RETURN NEW;
      END $$;
      CREATE TRIGGER note_states BEFORE UPDATE OF status ON runs FOR EACH ROW WHEN (NEW.status = 'success')
        EXECUTE FUNCTION note_states()`);
    const { gate, thread_id, run_id } = await startGated(one);
    await expect.poll(async () => (await one.client.threads.getState(thread_id)).next).toEqual(["wait"]);
    // Like a cancel at the other server whose notification is lost.
    await servers.query(`UPDATE runs SET stop_requested = 'rollback' WHERE run_id = '${run_id}'`);
    openGate(gate);
    await expect.poll(() => servers.query("SELECT FROM runs")).toEqual([]);
    expect(await servers.query("SELECT count FROM states_at_end")).toEqual([{ count: 0 }]);
    expect(await other.client.threads.getHistory(thread_id)).toEqual([]);
  });

  it("continue the runs that the other server releases when it stops", async () => {
    const walking = await startGated(one);
    const waiting = await startGated(one, "enqueue", walking.thread_id);
    await expect.poll(() => statusOf(walking)).toBe("running");
    const closing = one.close();
    openGate(walking.gate);
    await closing;
    await other.client.runs.join(walking.thread_id, walking.run_id);
    openGate(waiting.gate);
    await other.client.runs.join(waiting.thread_id, waiting.run_id);
    expect(await servers.query("SELECT DISTINCT crashes FROM runs")).toEqual([{ crashes: 0 }]);
  });
});
