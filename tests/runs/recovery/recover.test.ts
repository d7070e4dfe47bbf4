import { append } from "../../contract/records.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import { MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { hasProgress } from "@millrace/engine/runs/status";
import type { Run } from "@millrace/engine/storage/records";
import { createTestStorage, type TestStorage } from "../../support/test-storage.ts";
import {
  askingGraph,
  collect,
  createHarness,
  createGate,
  createRuns,
  gatedGraph,
  never,
  plainGraph,
  request,
  serve,
  settle,
  State,
} from "../fixtures.ts";

/** What a new process finds: the same rows and checkpoints, nothing in memory. */
function restart(storage: TestStorage, graphs: Record<string, unknown>) {
  return createRuns(storage, serve(graphs, storage.checkpointer));
}

/** A process that died while its run waited at a gate: it says and writes nothing any more. */
async function crashAtGate(calls: Record<string, number>, patch: Parameters<typeof request>[1] = {}) {
  const gate = createGate();
  const bench = await createHarness({ agent: gatedGraph(gate, calls) });
  const run = await bench.runs.start(bench.session, request("agent", patch));
  const seen = collect(bench.runs.follow(run.run_id, -1, never));
  await gate.arrived;
  await settle();
  // The drain leaves the row as a crash leaves it; the events that were emitted are stored.
  await bench.runs.drain(0);
  return { ...bench, run, seen: await seen };
}

describe("the clock of events after a restart", () => {
  const ahead = (hours: number): number => Date.now() + hours * 3_600_000;

  it("goes on from the end of the last run, also where the machine's clock was set back", async () => {
    const bench = await createHarness({ agent: plainGraph() });
    const run = await bench.runs.start(bench.session, request("agent"));
    await bench.runs.wait(run.run_id, never);
    const row = bench.storage.rows.run(run.run_id) ?? run;
    const end = ahead(1);
    bench.storage.rows.putRun({ ...row, updated_at: new Date(end).toISOString() });
    const runs = restart(bench.storage, { agent: plainGraph() });
    await runs.recover();
    const next = await runs.start(bench.session, request("agent"));
    const events = await collect(runs.follow(next.run_id, -1, never));
    expect(events).not.toEqual([]);
    for (const { at } of events) expect(at).toBeGreaterThan(end);
    await runs.drain(0);
  });

  it("goes on from what a run had emitted that was under way", async () => {
    const { storage, run } = await crashAtGate({});
    const last = await storage.events.last(run.run_id);
    const emittedAt = ahead(2);
    const emitted = { id: last + 1, at: emittedAt, event: "values" as const, namespace: [], data: {} };
    await append(storage, run.session_id, run.run_id, [emitted]);
    const runs = restart(storage, { agent: plainGraph() });
    await runs.recover();
    const events = await collect(runs.follow(run.run_id, last + 1, never));
    expect(events).not.toEqual([]);
    for (const { at } of events) expect(at).toBeGreaterThan(emittedAt);
    await runs.drain(0);
  });

  it("is not set by a time that no clock of ours has given", async () => {
    const bench = await createHarness({ agent: plainGraph() });
    const run = await bench.runs.start(bench.session, request("agent"));
    await bench.runs.wait(run.run_id, never);
    const row = bench.storage.rows.run(run.run_id) ?? run;
    bench.storage.rows.putRun({ ...row, updated_at: "2999-01-01T00:00:00.000Z" });
    const runs = restart(bench.storage, { agent: plainGraph() });
    await runs.recover();
    const next = await runs.start(bench.session, request("agent"));
    const events = await collect(runs.follow(next.run_id, -1, never));
    expect(events).not.toEqual([]);
    for (const { at } of events) expect(at).toBeLessThan(Date.parse("2998-01-01T00:00:00.000Z"));
    await runs.drain(0);
  });
});

describe("a drain", () => {
  it("refuses new runs at once", async () => {
    const { runs, session } = await createHarness({ agent: plainGraph() });
    await runs.drain(0);
    await expect(runs.start(session, request("agent"))).rejects.toMatchObject({ code: "server" });
  });

  it("lets a run that is in its last step end", async () => {
    const gate = createGate();
    const last = new StateGraph(State).addNode("last", (_state, config) => gate.pass(config.signal).then(() => ({})));
    const { runs, session, storage } = await createHarness({ agent: last.addEdge(START, "last").compile() });
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    const drained = runs.drain(60_000);
    gate.open();
    await drained;
    expect(storage.rows.run(run.run_id)?.status).toBe("success");
  });

  it("aborts a longer one, which stays running, and lets its readers go", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    const queued = await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
    const reading = collect(runs.follow(run.run_id, -1, never));
    const readingQueued = collect(runs.follow(queued.run_id, -1, never));
    const refused = runs.wait(run.run_id, never).catch((error: unknown) => error);
    await gate.arrived;
    await settle();
    await runs.drain(0);
    expect(storage.rows.run(run.run_id)?.status).toBe("running");
    expect(storage.rows.run(queued.run_id)?.status).toBe("pending");
    expect(storage.rows.session(session.session_id)?.status).toBe("busy");
    expect((await reading).map(({ event }) => event)).toEqual(["metadata", "values", "values"]);
    expect(await readingQueued).toEqual([]);
    expect(await refused).toMatchObject({ code: "server" });
  });
});

describe("a restart", () => {
  it("goes on from the checkpoint: finished steps are not repeated, ids go on", async () => {
    const calls: Record<string, number> = {};
    const { storage, run, seen } = await crashAtGate(calls);
    const gate = createGate();
    const runs = restart(storage, { agent: gatedGraph(gate, calls) });
    expect(await runs.recover()).toEqual({ resumed: 1 });
    const reading = collect(runs.follow(run.run_id, -1, never));
    gate.open();
    const events = await reading;
    expect(calls).toEqual({ before: 1, waits: 2, after: 1 });
    expect(events.slice(0, seen.length)).toEqual(seen);
    expect(events[seen.length]).toMatchObject({ id: 1000, event: "metadata", data: { attempt: 2 } });
    const ids = events.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted((left, right) => left - right));
    expect(events.at(-1)).toMatchObject({ event: "values", data: { steps: ["before", "waits", "after"] } });
    expect((await runs.wait(run.run_id, never)).status).toBe("success");
    expect(storage.rows.session(run.session_id)?.status).toBe("idle");
  });

  it("does not double the user's message", async () => {
    const { storage, run } = await crashAtGate({});
    const gate = createGate();
    gate.open();
    const runs = restart(storage, { agent: gatedGraph(gate) });
    await runs.recover();
    const ended = await runs.wait(run.run_id, never);
    expect((runs.lastValues(ended) as { messages: unknown[] }).messages).toHaveLength(1);
  });

  it("begins a run with its stored input when it had left nothing", async () => {
    const { storage, session, runs } = await createHarness({ agent: plainGraph() });
    const run = await runs.start(session, request("agent"));
    await runs.wait(run.run_id, never);
    const lost: Run = { ...run, run_id: crypto.randomUUID(), status: "running", attempt: 1 };
    storage.rows.putRun(lost);
    const next = restart(storage, { agent: plainGraph() });
    await next.recover();
    const ended = await next.wait(lost.run_id, never);
    expect(ended).toMatchObject({ status: "success", attempt: 2 });
  });

  it.each([0, 1])(
    "takes up queued runs in their order, after the one that ran (a clock %i hours back)",
    async (hours) => {
      const { storage, session, run } = await crashAtGate({});
      const at = new Date(Date.now() + hours * 3_600_000).toISOString();
      const row: Run = { ...(storage.rows.run(run.run_id) ?? run), created_at: at };
      storage.rows.putRun(row);
      const times = { created_at: at, updated_at: at };
      const queued: Run = { ...run, ...times, run_id: crypto.randomUUID(), status: "pending", attempt: 0 };
      storage.rows.putRun(queued);
      const gate = createGate();
      const runs = restart(storage, { agent: gatedGraph(gate) });
      await runs.recover();
      const order: string[] = [];
      const both = [run.run_id, queued.run_id].map(async (id) => {
        await runs.wait(id, never);
        order.push(id);
      });
      gate.open();
      await Promise.all(both);
      expect(order).toEqual([run.run_id, queued.run_id]);
      expect(storage.rows.session(session.session_id)?.status).toBe("idle");
    },
  );

  it("asks again what was being asked, under the same id", async () => {
    const { storage, session, runs } = await createHarness({ agent: askingGraph() });
    const asked = await runs.wait((await runs.start(session, request("agent"))).run_id, never);
    const before = storage.rows.session(session.session_id)?.interrupts;
    storage.rows.putRun({ ...asked, status: "running" });
    const next = restart(storage, { agent: askingGraph() });
    await next.recover();
    expect((await next.wait(asked.run_id, never)).status).toBe("success");
    expect(storage.rows.session(session.session_id)).toMatchObject({ status: "interrupted", interrupts: before });
  });

  it("ends a run that had reached its last step", async () => {
    const { storage, session, runs } = await createHarness({ agent: plainGraph() });
    const done = await runs.wait((await runs.start(session, request("agent"))).run_id, never);
    storage.rows.putRun({ ...done, status: "running" });
    const next = restart(storage, { agent: plainGraph() });
    await next.recover();
    expect((await next.wait(done.run_id, never)).status).toBe("success");
  });

  it("cancels a run that waits to be taken up", async () => {
    const { storage, run } = await crashAtGate({});
    const runs = restart(storage, { agent: gatedGraph(createGate()) });
    await runs.recover();
    expect((await runs.cancel(run.run_id, { action: "interrupt", wait: true }))?.status).toBe("interrupted");
  });

  it("goes on after a fork from the run's own newest checkpoint", async () => {
    const calls: Record<string, number> = {};
    const gate = createGate();
    const bench = await createHarness({ agent: gatedGraph(gate, calls), plain: plainGraph() });
    const first = await bench.runs.start(bench.session, request("plain"));
    await bench.runs.wait(first.run_id, never);
    const tuple = await bench.storage.checkpointer.getTuple({ configurable: { thread_id: bench.session.session_id } });
    const checkpoint_id = tuple?.checkpoint.id;
    const run = await bench.runs.start(bench.session, request("agent", { checkpoint: { checkpoint_id } }));
    await gate.arrived;
    await settle();
    await bench.runs.drain(0);
    const runs = restart(bench.storage, { agent: gatedGraph(gate, calls), plain: plainGraph() });
    await runs.recover();
    gate.open();
    expect((await runs.wait(run.run_id, never)).status).toBe("success");
    expect(calls).toEqual({ before: 1, waits: 2, after: 1 });
  });
});

describe("progress", () => {
  it("is what the saver knows of the run, where it can say so", async () => {
    const asked: string[][] = [];
    const saver = Object.assign(new MemorySaver(), {
      hasRun: (...names: string[]) => {
        asked.push(names);
        return true;
      },
    });
    const run = { session_id: "s", run_id: "r" } as Run;
    expect(await hasProgress(saver, run)).toBe(true);
    expect(asked).toEqual([["s", "r"]]);
    expect(await hasProgress(new MemorySaver(), run)).toBe(false);
  });
});

describe("a store that refuses", () => {
  it("the end of a run delays it: the run is over when the store takes it again", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) }, createTestStorage());
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    storage.failures.add("finish");
    gate.open();
    const waiting = runs.wait(run.run_id, never);
    await settle();
    expect(storage.rows.run(run.run_id)?.status).toBe("running");
    storage.failures.clear();
    expect((await waiting).status).toBe("success");
  });

  it("more events fails the run", async () => {
    const chatty = new StateGraph(State)
      .addNode("talks", async (_state, config) => {
        for (let at = 0; at < 3000; at += 1) {
          config.writer?.({ at });
          if (at % 100 === 0) await nextTurn();
        }
      })
      .addEdge(START, "talks")
      .compile();
    const { runs, session, storage } = await createHarness({ agent: chatty });
    storage.failures.add("reserve");
    const run = await runs.start(session, request("agent", { stream_mode: ["custom"] }));
    const failing = new Promise<void>((resolve) => {
      storage.beforeWrite = (operation) => {
        if (operation === "reserve") resolve();
      };
    });
    await failing;
    await settle();
    storage.failures.clear();
    expect(await runs.wait(run.run_id, never)).toMatchObject({ status: "error", error: { error: "storage_full" } });
    const events = await collect(runs.follow(run.run_id, -1, never));
    expect(events.at(-1)).toMatchObject({ event: "error", data: { error: "storage_full" } });
    expect(events.length).toBeLessThan(3000);
  });

  it("a queue that cannot be read is tried again", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    storage.failures.add("claim");
    const run = await runs.start(session, request("agent"));
    await settle();
    storage.failures.clear();
    expect((await runs.wait(run.run_id, never)).status).toBe("success");
  });
});
