import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { rollBack } from "@millrace/engine/runs/remove-run";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { runRecord, sessionRecord } from "../contract/records.ts";
import { openGate } from "../support/test-graphs.ts";
import { startPostgres, withClient } from "../support/processes/postgres.ts";
import { createServers, type Servers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("two servers on one database", () => {
  let servers: Servers;
  beforeEach(async () => {
    servers = await createServers(postgres);
  });
  afterEach(() => servers.close());

  it("each perform the runs of a thread that they received, in the order in which they came", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    const gate = crypto.randomUUID();
    await one.client.runs.create(thread_id, "gated", { input: { gate } });
    const behind = await other.client.runs.create(thread_id, "counter", {
      input: { value: 1 },
      multitaskStrategy: "enqueue",
    });
    await expect(
      other.client.runs.create(thread_id, "counter", { input: { value: 1 }, multitaskStrategy: "reject" }),
    ).rejects.toMatchObject({ status: 422 });
    openGate(gate);
    expect(await one.client.runs.join(thread_id, behind.run_id)).toMatchObject({ value: 2 });
    // Both servers know what either has written.
    expect(await one.client.runs.wait(thread_id, "counter", { input: { value: 2 } })).toMatchObject({ value: 3 });
    expect((await other.client.threads.getState(thread_id)).values).toMatchObject({ value: 3 });
    expect(await servers.query("SELECT DISTINCT attempt, crashes FROM runs")).toEqual([{ attempt: 1, crashes: 0 }]);
  });

  it("count what waits at either of them against the limit of the queue", async () => {
    const [one, other] = [await servers.start({ queueLimit: 2 }), await servers.start({ queueLimit: 2 })];
    const { thread_id } = await one.client.threads.create();
    const gate = crypto.randomUUID();
    const begin = async (server: typeof one): Promise<number> => {
      const body = { assistant_id: "gated", input: { gate }, multitask_strategy: "enqueue" };
      return (await server.send("POST", `/threads/${thread_id}/runs`, body)).status;
    };
    // The first one works, and each server has one that waits.
    expect([await begin(one), await begin(one), await begin(other)]).toEqual([200, 200, 200]);
    expect([await begin(one), await begin(other)]).toEqual([429, 429]);
    openGate(gate);
  });

  it("have the same system assistants, after a start too, and the first server leads", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const own = async ({ client }: typeof one) =>
      await client.assistants.search({ metadata: { created_by: "system" } });
    const before = await own(one);
    expect(before.length).toBeGreaterThan(0);
    expect(await own(other)).toEqual(before);
    await one.close();
    expect(await own(await servers.start())).toEqual(before);
    const [storage, later] = [await servers.open(), await servers.open()];
    expect([storage.cluster.isLeader, later.cluster.isLeader]).toEqual([false, false]);
    await other.close();
    await servers.query("DELETE FROM servers WHERE id < " + storage.cluster.id);
    await expect.poll(() => storage.cluster.isLeader).toBe(true);
    expect(later.cluster.isLeader).toBe(false);
    await storage.close();
    await expect.poll(() => later.cluster.isLeader).toBe(true);
  });

  it("stop each other's runs", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    const run = await one.client.runs.create(thread_id, "gated", { input: { gate: crypto.randomUUID() } });
    await expect.poll(async () => (await other.client.runs.get(thread_id, run.run_id)).status).toBe("running");
    await other.client.runs.cancel(thread_id, run.run_id, true);
    expect((await one.client.runs.get(thread_id, run.run_id)).status).toBe("interrupted");
    // Deleting a thread deletes the runs that another server performs.
    await one.client.runs.create(thread_id, "gated", { input: { gate: crypto.randomUUID() } });
    await other.client.threads.delete(thread_id);
    await expect.poll(() => servers.query("SELECT FROM runs")).toEqual([]);
  });

  it("clear the queue behind a run, whichever server has the run or the queue", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    const input = { gate: crypto.randomUUID() };
    const walking = await one.client.runs.create(thread_id, "gated", { input });
    await expect.poll(async () => (await other.client.runs.get(thread_id, walking.run_id)).status).toBe("running");
    await one.client.runs.create(thread_id, "counter", { input: { value: 1 }, multitaskStrategy: "enqueue" });
    await other.client.runs.create(thread_id, "counter", { input: { value: 1 }, multitaskStrategy: "enqueue" });
    await other.send("POST", `/threads/${thread_id}/runs/${walking.run_id}/cancel?wait=true&queue=clear`);
    expect(await servers.query("SELECT DISTINCT status FROM runs")).toEqual([{ status: "interrupted" }]);
    expect((await one.client.threads.getState(thread_id)).values).toEqual({ value: 0 });
    // Also where this server has none of the runs.
    const next = await one.client.runs.create(thread_id, "gated", { input });
    await one.client.runs.create(thread_id, "counter", { input: { value: 1 }, multitaskStrategy: "enqueue" });
    await other.send("POST", `/threads/${thread_id}/runs/${next.run_id}/cancel?wait=true&queue=clear`);
    expect(await servers.query("SELECT DISTINCT status FROM runs")).toEqual([{ status: "interrupted" }]);
  });

  it("take a run that waits at another one out of the queue, once, and none that has begun", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    const input = { gate: crypto.randomUUID() };
    const walking = await one.client.runs.create(thread_id, "gated", { input });
    await expect.poll(async () => (await other.client.runs.get(thread_id, walking.run_id)).status).toBe("running");
    const queued = await one.client.runs.create(thread_id, "counter", { input: {}, multitaskStrategy: "enqueue" });
    const cancel = async (run: { run_id: string }, at = other): Promise<number> =>
      (await at.send("POST", `/threads/${thread_id}/runs/${run.run_id}/cancel?wait=true&status=pending`)).status;
    expect(await cancel(walking)).toBe(409);
    const twice = [cancel(queued), cancel(queued), cancel(queued, one)];
    expect((await Promise.all(twice)).filter((status) => status !== 409)).toEqual([204]);
    const runs = await one.client.runs.list(thread_id);
    expect(runs.map(({ status }) => status)).toEqual(["interrupted", "running"]);
  });

  it("delete a thread while its run is being rolled back", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    // Which comes first, the deletion or the check for the run's end, is a matter of chance.
    const startAndDelete = async (): Promise<void> => {
      const { thread_id } = await one.client.threads.create();
      const { run_id } = await one.client.runs.create(thread_id, "gated", { input: { gate: crypto.randomUUID() } });
      await expect.poll(async () => (await other.client.runs.get(thread_id, run_id)).status).toBe("running");
      await other.client.runs.cancel(thread_id, run_id, false, "rollback");
      await other.client.threads.delete(thread_id);
    };
    await Promise.all(Array.from({ length: 5 }, startAndDelete));
    expect(await servers.query("SELECT FROM sessions")).toEqual([]);
  });

  it("roll back each other's runs: the checkpoints are deleted with the end, and then the run", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    // The next run may start at another server as soon as the end of the last one is written.
    await servers.query(`CREATE TABLE states_at_end (count int);
      CREATE FUNCTION note_states() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO states_at_end SELECT count(*) FROM checkpoint_rows AS c JOIN checkpoint_runs AS r ON r.key = c.run
          WHERE r.run_id = NEW.run_id;
        RETURN NEW;
      END $$;
      CREATE TRIGGER note_states BEFORE UPDATE OF status ON runs FOR EACH ROW WHEN (NEW.status = 'interrupted')
        EXECUTE FUNCTION note_states()`);
    const { thread_id } = await one.client.threads.create();
    const begin = async (): Promise<string> => {
      const { run_id } = await one.client.runs.create(thread_id, "gated", { input: { gate: crypto.randomUUID() } });
      await expect.poll(async () => (await other.client.threads.getState(thread_id)).next).toEqual(["wait"]);
      return run_id;
    };
    const cancelled = await begin();
    await other.client.runs.cancel(thread_id, cancelled, true, "rollback");
    await expect(other.client.runs.get(thread_id, cancelled)).rejects.toThrow("404");
    const replaced = await begin();
    const input = { value: 1 };
    expect(await other.client.runs.wait(thread_id, "counter", { input, multitaskStrategy: "rollback" })).toMatchObject({
      value: 2,
    });
    await expect
      .poll(() => one.send("GET", `/threads/${thread_id}/runs/${replaced}`).then(({ status }) => status))
      .toBe(404);
    expect(await servers.query("SELECT count FROM states_at_end")).toEqual([{ count: 0 }, { count: 0 }]);
  });

  it("release their runs when they stop, and a starting server takes no runs of others", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    const { thread_id: waiting } = await one.client.threads.create();
    const gate = crypto.randomUUID();
    const run = await one.client.runs.create(thread_id, "gated", { input: { gate } });
    const queued = await one.client.runs.create(thread_id, "gated", {
      input: { gate },
      multitaskStrategy: "enqueue",
    });
    const delayed = await one.client.runs.create(waiting, "counter", { input: { value: 1 }, afterSeconds: 1 });
    // A server that stops releases no runs of others, either.
    await servers.query(`CREATE TABLE released ();
      CREATE FUNCTION note_release() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO released DEFAULT VALUES;
        RETURN NEW;
      END $$;
      CREATE TRIGGER note_release BEFORE UPDATE OF owner ON runs FOR EACH ROW WHEN (NEW.owner IS NULL)
        EXECUTE FUNCTION note_release()`);
    const third = await servers.start();
    expect(await servers.query("SELECT DISTINCT attempt FROM runs WHERE status = 'running'")).toEqual([{ attempt: 1 }]);
    await third.close();
    expect(await servers.query("SELECT FROM released")).toEqual([]);
    const closing = one.close();
    openGate(gate);
    await closing;
    expect(await other.client.runs.join(thread_id, run.run_id)).toMatchObject({ passed: true });
    expect(await other.client.runs.join(thread_id, queued.run_id)).toMatchObject({ passed: true });
    expect(await other.client.runs.join(waiting, delayed.run_id)).toMatchObject({ value: 2 });
    expect(await servers.query("SELECT DISTINCT crashes FROM runs")).toEqual([{ crashes: 0 }]);
  });

  it("keep each other's writes, and take turns in changing the state of a thread", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    // A server that joins waits until the others know of it.
    expect([one.cluster.serverCount, other.cluster.serverCount]).toEqual([2, 2]);
    const place = { configurable: { thread_id: "copy", checkpoint_ns: "" } };
    await one.checkpointer.put(place, emptyCheckpoint(), { source: "input", step: -1, parents: {} }, {});
    expect(await other.sessions.deleteUnfinished()).toBe(0);
    await one.sessions.create(sessionRecord("s1"));
    const steps: string[] = [];
    const changed = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const change = one.sessions.withLease?.("s1", async () => {
      begun.resolve();
      await changed.promise;
      steps.push("changed by one");
    });
    await begun.promise;
    const admitted = other.runs
      .admit(runRecord("r1", "s1"), { hasRoom: true })
      .then(() => steps.push("admitted by other"));
    const again = other.sessions.withLease?.("s1", async () => void steps.push("changed by other"));
    await expect
      .poll(() => servers.query("SELECT turn IS NOT NULL AS is_taken FROM sessions"))
      .toEqual([{ is_taken: true }]);
    expect(steps).toEqual([]);
    changed.resolve();
    await Promise.all([change, admitted, again]);
    expect(steps[0]).toBe("changed by one");
    expect(steps).toHaveLength(3);
  });

  it("refuse the writes of a state change that took so long that its lease on the session expired", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    await one.sessions.create(sessionRecord("s1"));
    const config = { configurable: { thread_id: "s1", checkpoint_ns: "" } };
    const put = (step: number) =>
      one.checkpointer.put(config, emptyCheckpoint(), { source: "update", step, parents: {} }, {});
    const call = { session_id: "s1", run_id: "r0", tool_call_id: "c1", tool: "t", effect: "unsafe" } as const;
    const writes = [
      async () => void (await put(1)),
      async () => void (await one.sessions.update("s1", { metadata: { by: "hand" } })),
      async () => void (await one.runs.delete("r1")),
      async () => void (await one.manualCalls.ledger.start(call)),
      async () => void (await one.sessions.delete("s1")),
    ];
    const change = one.sessions.withLease?.("s1", async () => {
      // It may write as long as the lease is valid.
      await put(0);
      await one.sessions.update("s1", { metadata: { by: "one" } });
      await servers.query("UPDATE sessions SET turn_until = now() - interval '1 second'");
      const { claimed } = await other.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
      expect(claimed?.run_id).toBe("r1");
      for (const write of writes) await expect(write()).rejects.toMatchObject({ code: "conflict" });
      expect(await one.sessions.get("s1")).toMatchObject({ metadata: { by: "one" } });
    });
    await change;
    expect(await servers.query("SELECT count(*) FROM checkpoint_rows")).toEqual([{ count: "1" }]);
    // Outside of a lease the same writes are allowed.
    await put(1);
    expect(await servers.query("SELECT count(*) FROM checkpoint_rows")).toEqual([{ count: "2" }]);
  });

  it("refuse a write whose transaction began before the lease on the session expired, and went on after it", async () => {
    const one = await servers.open();
    await one.sessions.create(sessionRecord("s1"));
    await one.sessions.withLease?.("s1", async () => {
      const update = await withClient(servers.url, async (client) => {
        await client.query("BEGIN; SELECT FROM sessions FOR NO KEY UPDATE");
        const sent = one.sessions.update("s1", { metadata: { by: "hand" } }).catch((error: unknown) => error);
        const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%is_own%'";
        await expect.poll(() => servers.query(waiting)).toHaveLength(1);
        await client.query("UPDATE sessions SET turn_until = clock_timestamp(); COMMIT");
        return await sent;
      });
      expect(update).toMatchObject({ code: "conflict" });
    });
    expect((await one.sessions.get("s1"))?.metadata).toEqual(sessionRecord("s1").metadata);
  });

  it("claim no run of a thread that another one changes", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    await one.sessions.create(sessionRecord("s1"));
    await other.runs.admit(runRecord("r1", "s1"));
    await one.sessions.withLease?.("s1", async () => {
      expect(await other.runs.claim("s1")).toBeUndefined();
    });
    expect(await other.runs.claim("s1")).toMatchObject({ run_id: "r1", status: "running", attempt: 1 });
  });

  it("claim no queued run of another one, until that is no longer registered", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    await one.sessions.create(sessionRecord("s1"));
    await other.runs.admit(runRecord("r1", "s1"));
    expect(await one.runs.claim("s1")).toBeUndefined();
    await servers.query(`DELETE FROM servers WHERE id = ${other.cluster.id}`);
    expect(await one.runs.claim("s1")).toMatchObject({ run_id: "r1", status: "running", attempt: 1 });
    expect(await servers.query("SELECT owner FROM runs")).toEqual([{ owner: String(one.cluster.id) }]);
  });

  it("see each other's checkpoints, also after a delete", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    const config = { configurable: { thread_id: "t1", checkpoint_ns: "" } };
    const write = (storage: OpenedStorage, value: number) =>
      storage.checkpointer.put(
        config,
        { ...emptyCheckpoint(), id: uuid6(value), channel_values: { value }, channel_versions: { value } },
        { source: "update", step: value, parents: {} },
        { value },
      );
    const valueAt = async (storage: OpenedStorage) =>
      (await storage.checkpointer.getTuple(config))?.checkpoint.channel_values;
    await write(one, 1);
    expect(await valueAt(other)).toEqual({ value: 1 });
    await write(other, 2);
    expect(await valueAt(one)).toEqual({ value: 2 });
    await write(one, 3);
    await write(other, 4);
    await other.close();
    await expect.poll(() => one.cluster.serverCount).toBe(1);
    expect(await valueAt(one)).toEqual({ value: 4 });
  });

  it("find the state that was written last, also where their clocks differ", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    const write = async (storage: OpenedStorage, id: string, parent?: string): Promise<void> => {
      const config = { configurable: { thread_id: "t1", checkpoint_ns: "", checkpoint_id: parent } };
      await storage.checkpointer.put(
        config,
        { ...emptyCheckpoint(), id },
        { source: "loop", step: 0, parents: {} },
        {},
      );
    };
    const newest = async (storage: OpenedStorage): Promise<string | undefined> =>
      (await storage.checkpointer.getTuple({ configurable: { thread_id: "t1", checkpoint_ns: "" } }))?.checkpoint.id;
    // Each server has keys for its own states; those of the first one are smaller.
    await write(one, "5");
    await write(other, "2", "5");
    expect(await newest(one)).toBe("2");
    await write(one, "6", "2");
    expect([await newest(one), await newest(other)]).toEqual(["6", "6"]);
    await write(other, "3", "6");
    expect([await newest(one), await newest(other)]).toEqual(["3", "3"]);
  });

  it("find what the other server has made after they looked for it in vain", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const assistantId = crypto.randomUUID();
    await expect(one.client.assistants.get(assistantId)).rejects.toThrow("404");
    await other.client.assistants.create({ graphId: "counter", assistantId });
    expect(await one.client.assistants.get(assistantId)).toMatchObject({ graph_id: "counter" });
    const { thread_id } = await one.client.threads.create();
    expect(await one.client.threads.getHistory(thread_id)).toEqual([]);
    await other.client.runs.wait(thread_id, assistantId, { input: { value: 1 } });
    expect(await one.client.threads.getHistory(thread_id)).toHaveLength(3);
    // What deletes states has to find them, too.
    await one.send("POST", "/threads/prune", { thread_ids: [thread_id], strategy: "keep_latest" });
    expect(await other.client.threads.getHistory(thread_id)).toHaveLength(1);
  });

  it("read the messages in a run's events, also those that the other server has written since", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    const body = { input: { messages: [{ role: "user", content: "hi" }] }, streamMode: ["values" as const] };
    await other.client.runs.wait(thread_id, "nested", { input: body.input });
    const run = await one.client.runs.create(thread_id, "nested", body);
    const values = await one.client.runs.join(thread_id, run.run_id);
    const events = await Array.fromAsync(
      other.client.runs.joinStream(thread_id, run.run_id, { lastEventId: "-1", streamMode: ["values"] }),
    );
    expect(events.at(-1)).toMatchObject({ event: "values", data: values });
  });

  it("keep the questions of a run that another server starts during a rollback", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    await one.sessions.create(sessionRecord("s1"));
    const { claimed } = await one.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
    await one.runs.requestStop("r1", "rollback");
    const idle = { session_status: "idle", interrupts: {} } as const;
    const attempt = one.attempt({ run_id: "r1", session_id: "s1", attempt: claimed?.attempt });
    const ended = await attempt.finish({ ...idle, status: "interrupted", isRemoved: true });
    const interrupts = { task: [{ id: "q1", value: "Which one?" }] };
    const ask = async (): Promise<void> => {
      await other.runs.admit(runRecord("r2", "s1"), { hasRoom: true });
      const asking = other.attempt({ run_id: "r2", session_id: "s1", attempt: 1 });
      await asking.finish({ status: "success", session_status: "interrupted", interrupts });
    };
    let asked: Promise<void> | undefined;
    const sessions: OpenedStorage["sessions"] = {
      ...one.sessions,
      async update(...change) {
        const isTaken = await servers.query("SELECT FROM sessions WHERE turn IS NOT NULL");
        asked = ask();
        // Without a lease for the rollback, the other run starts between its read and its write.
        if (isTaken.length === 0) await asked;
        return await one.sessions.update(...change);
      },
    };
    const graphs = { ids: () => [] } as unknown as Parameters<typeof rollBack>[1]["graphs"]; // no graph is served
    if (ended !== undefined)
      await rollBack(ended, { storage: { ...one, sessions }, graphs, logger: createLogger("silent") });
    await asked;
    expect(await one.sessions.get("s1")).toMatchObject({ status: "interrupted", interrupts });
    expect(await one.runs.get("r1")).toBeUndefined();
  });

  it("keep their leases when the machine's clock is set an hour ahead", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    const ids = [one.cluster.id, other.cluster.id];
    let lost = 0;
    for (const { cluster } of [one, other]) cluster.onLeaseLost(() => (lost += 1));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 });
    try {
      expect([one.cluster.holdsLease(), other.cluster.holdsLease()]).toEqual([false, false]);
      // As `/health/ready` reports it.
      expect(one.cluster.problem).toBe("The database has not renewed the lease of this server.");
      // Not by the first heartbeat, which may have been in flight.
      await expect.poll(() => [one.cluster.holdsLease(), other.cluster.holdsLease()]).toEqual([true, true]);
      expect([one.cluster.id, other.cluster.id, lost]).toEqual([...ids, 0]);
      expect(one.cluster.problem).toBeUndefined();
      // Dates come from the clock of the database.
      const updated = await one.sessions.create(sessionRecord("s1")).then(() => one.sessions.update("s1", {}));
      const [row] = await servers.query(
        "SELECT abs(extract(epoch FROM now() - updated_at::timestamptz)) < 60 AS is_near FROM sessions",
      );
      expect([updated?.session_id, row]).toEqual(["s1", { is_near: true }]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("refuse the writes of a server whose lease has expired, and give it a new lease", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    await one.sessions.create(sessionRecord("s1"));
    const { claimed } = await one.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
    const attempt = one.attempt({ run_id: "r1", session_id: "s1", attempt: claimed?.attempt });
    const lost = new Promise<void>((resolve) => one.cluster.onLeaseLost(resolve));
    const { id } = one.cluster;
    expect(await other.runs.acquire()).toEqual([]);
    await servers.query(`DELETE FROM servers WHERE id = ${id}`);
    expect(await other.runs.acquire()).toMatchObject([{ run_id: "r1", status: "running" }]);
    await expect(
      attempt.append([{ id: 0, at: 0, event: "metadata", data: { run_id: "r1", attempt: 1 } }]),
    ).rejects.toMatchObject({ code: "conflict" });
    const call = { session_id: "s1", run_id: "r1", tool_call_id: "c1", tool: "t", effect: "unsafe" } as const;
    await expect(attempt.ledger.start(call)).rejects.toMatchObject({ code: "conflict" });
    await expect(attempt.reserve(5_000)).rejects.toMatchObject({ code: "conflict" });
    const outcome = { status: "success", session_status: "idle", interrupts: {} } as const;
    expect(await attempt.finish(outcome)).toBeUndefined();
    await lost;
    await expect.poll(() => one.cluster.id).not.toBe(id);
    expect(await one.runs.reclaim("r1")).toBeUndefined();
    expect(await other.runs.reclaim("r1")).toMatchObject({ attempt: 2, crashes: 1 });
  });

  it("hold a new lease after an expiry only when the other server knows of it", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    const remove = async (): Promise<number> => {
      await servers.query(`DELETE FROM servers WHERE id <> ${other.cluster.id}`);
      return other.cluster.serverCount;
    };
    await expect.poll(remove, { interval: 10 }).toBe(1);
    const { id } = one.cluster;
    await remove();
    let known: number | undefined;
    const trusted = (): unknown =>
      (known ??= one.cluster.id !== id && one.cluster.holdsLease() ? other.cluster.serverCount : undefined);
    await expect.poll(trusted, { interval: 1 }).toBeDefined();
    expect(known).toBe(2);
  });
});
