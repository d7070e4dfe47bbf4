import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Runs } from "@millrace/engine/runs/runs";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import {
  askingGraph,
  collect,
  createGate,
  createRuns,
  createSession,
  gatedGraph,
  nestedGraph,
  never,
  request,
  serve,
  settle,
} from "../fixtures.ts";

let folder: string;
let storage: SqliteStorage;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-runs-"));
});
afterEach(async () => {
  await storage.close();
  await rm(folder, { recursive: true });
});

/** A process over the folder's database. */
function open(graphs: Record<string, unknown>): Runs {
  storage = createSqliteStorage(join(folder, "millrace.db"));
  return createRuns(storage, serve(graphs, storage.checkpointer));
}

describe("runs on the real store", () => {
  it("go on after a restart from where they were, and their log is whole", async () => {
    const calls: Record<string, number> = {};
    const gate = createGate();
    const first = open({ agent: gatedGraph(gate, calls) });
    const session = await createSession(storage);
    const run = await first.start(session, request("agent"));
    const queued = await first.start(session, request("agent", { multitask_strategy: "enqueue" }));
    const seen = collect(first.follow(run.run_id, -1, never));
    await gate.arrived;
    await settle();
    await first.drain(0);
    await storage.close();

    const second = open({ agent: gatedGraph(gate, calls) });
    gate.open();
    expect(await second.recover()).toEqual({ resumed: 1 });
    const events = await collect(second.follow(run.run_id, -1, never));
    expect(events.slice(0, 3)).toEqual(await seen);
    expect(events[3]).toMatchObject({ id: 1000, event: "metadata", data: { attempt: 2 } });
    expect(events.at(-1)).toMatchObject({ data: { steps: ["before", "waits", "after"] } });
    expect((await second.wait(queued.run_id, never)).status).toBe("success");
    expect(calls).toEqual({ before: 2, waits: 3, after: 2 });
    expect(await storage.sessions.get(session.session_id)).toMatchObject({ status: "idle" });
    await second.drain(0);
  });

  it("begin in their turn where the machine's clock is set back while they wait (reliability T3)", async () => {
    const gate = createGate();
    const runs = open({ agent: gatedGraph(gate) });
    const session = await createSession(storage);
    const ids: string[] = [];
    const ended: string[] = [];
    const start = async (): Promise<void> => {
      const { run_id } = await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
      ids.push(run_id);
      void runs.wait(run_id, never).then(({ run_id: id, status }) => ended.push(`${status} ${id}`));
    };
    await start();
    await start();
    await gate.arrived;
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
    try {
      await start();
      gate.open();
      await expect.poll(() => ended).toHaveLength(3);
      expect(ended).toEqual(ids.map((id) => `success ${id}`));
      const listed = await runs.list(session.session_id, { limit: 10, offset: 0 });
      expect(listed.map(({ run_id }) => run_id)).toEqual(ids.toReversed());
    } finally {
      vi.useRealTimers();
    }
    await runs.drain(0);
  });

  it("take an answer to a question of a former process", async () => {
    const first = open({ agent: askingGraph() });
    const session = await createSession(storage);
    await first.wait((await first.start(session, request("agent"))).run_id, never);
    await first.drain(0);
    await storage.close();

    const second = open({ agent: askingGraph() });
    expect(await second.recover()).toEqual({ resumed: 0 });
    expect(await storage.sessions.get(session.session_id)).toMatchObject({ status: "interrupted" });
    const { input: _input, ...answer } = request("agent", { command: { resume: "yes" } });
    const ended = await second.wait((await second.start(session, answer)).run_id, never);
    expect(second.lastValues(ended)).toMatchObject({ steps: ["yes"] });
    await second.drain(0);
  });

  it("give the same events from the store as they gave live", async () => {
    const runs = open({ agent: nestedGraph() });
    const session = await createSession(storage);
    const stream_mode = ["values", "updates", "messages", "messages-tuple", "custom", "debug", "tasks", "checkpoints"];
    const run = await runs.start(session, request("agent", { stream_mode, stream_subgraphs: true }));
    const live = await collect(runs.follow(run.run_id, -1, never));
    const stored = await collect(runs.follow(run.run_id, -1, never));
    expect(stored.map(({ id, event }) => [id, event])).toEqual(live.map(({ id, event }) => [id, event]));
    const plain = (events: unknown): unknown => JSON.parse(JSON.stringify(events));
    expect(plain(stored)).toEqual(plain(live));
    await runs.drain(0);
  });

  it("that are rolled back leave neither a row nor a checkpoint", async () => {
    const gate = createGate();
    const runs = open({ agent: gatedGraph(gate) });
    const session = await createSession(storage);
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    await settle();
    await runs.cancel(run.run_id, { action: "rollback", wait: true });
    expect(await runs.get(run.run_id)).toBeUndefined();
    expect(await storage.checkpointer.getTuple({ configurable: { thread_id: session.session_id } })).toBeUndefined();
    expect(await storage.sessions.get(session.session_id)).toMatchObject({ status: "idle", interrupts: {} });
    await runs.drain(0);
  });
});
