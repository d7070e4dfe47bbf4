import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AppError } from "@millrace/engine/errors/errors";
import type { Runs } from "@millrace/engine/runs/runs";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { withAttempts } from "../../support/test-storage.ts";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";
import { createGate, createRuns, createSession, gatedGraph, plainGraph, request, serve } from "../../runs/fixtures.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

describe.skipIf(server === undefined)("a run that a server owns without knowing", () => {
  let url: string;
  let storage: OpenedStorage;
  const drains: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    url = (await server?.create()) ?? "";
    storage = await createPostgresStorage(url, { leaseSeconds: 60 });
  });
  afterEach(async () => {
    for (const drain of drains.splice(0)) await drain();
    await storage.close();
  });

  /** The runs of a server with `graphs`; `beat` is a heartbeat of it that comes a minute later. */
  async function startRuns(
    graphs: Record<string, unknown>,
    seen = storage,
  ): Promise<{ runs: Runs; beat: (hasOrphanedRuns?: boolean) => void }> {
    const listening = vi.spyOn(storage.cluster, "onHeartbeat");
    const runs = createRuns(seen, serve(graphs, storage.checkpointer));
    drains.push(() => runs.drain(0));
    await runs.recover();
    const [[listener] = []] = listening.mock.calls;
    const beat = (hasOrphanedRuns = false): void => {
      const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 61_000);
      listener?.({ stops: [], hasOrphanedRuns });
      clock.mockRestore();
    };
    return { runs, beat };
  }
  const never = new AbortController().signal;
  const statusOf = async (runId: string) => (await storage.runs.get(runId))?.status;

  it("is executed where its admission was carried out, and its answer lost for longer than the caller waits", async () => {
    let isAway = true;
    const admit: OpenedStorage["runs"]["admit"] = async (...asked) => {
      const admitted = await storage.runs.admit(...asked);
      if (isAway) throw new AppError("storage_unavailable", "No answer.");
      return admitted;
    };
    const { runs } = await startRuns({ plain: plainGraph() }, { ...storage, runs: { ...storage.runs, admit } });
    const session = await createSession(storage);
    const refused = runs.start(session, request("plain", { multitask_strategy: "enqueue" }));
    await expect(refused).rejects.toMatchObject({ code: "storage_unavailable" });
    isAway = false;
    const next = await runs.start(session, request("plain", { multitask_strategy: "enqueue" }));
    await expect.poll(() => statusOf(next.run_id)).toBe("success");
    const found = await storage.runs.list(session.session_id, { limit: 10, offset: 0 });
    expect(found.map(({ status }) => status)).toEqual(["success", "success"]);
  });

  it("is found by a heartbeat once a minute, and executed", async () => {
    const { runs, beat } = await startRuns({ plain: plainGraph() });
    const session = await createSession(storage);
    const before = await runs.start(session, request("plain"));
    await runs.wait(before.run_id, never);
    // As an admission leaves it that is carried out long after its caller has given up.
    const { claimed } = await storage.runs.admit({ ...before, run_id: crypto.randomUUID() }, { hasRoom: true });
    expect(await storage.runs.held()).toEqual([claimed?.run_id]);
    beat();
    await expect.poll(() => statusOf(claimed?.run_id ?? "")).toBe("success");
    expect(await storage.runs.held()).toEqual([]);
  });

  it("is in hand once where it was claimed here between its take-over and its adoption", async () => {
    let meanwhile: (() => Promise<unknown>) | undefined;
    const leftRollbacks: OpenedStorage["runs"]["leftRollbacks"] = async () => {
      await meanwhile?.();
      return await storage.runs.leftRollbacks();
    };
    const seen = { ...storage, runs: { ...storage.runs, leftRollbacks } };
    const { runs, beat } = await startRuns({ plain: plainGraph() }, seen);
    const session = await createSession(storage);
    const before = await runs.start(session, request("plain"));
    await runs.wait(before.run_id, never);
    const leave = async (): Promise<string> => {
      const { run } = await storage.runs.admit({
        ...before,
        run_id: crypto.randomUUID(),
        status: "pending",
        attempt: 0,
      });
      await withClient(url, (client) => client.query("UPDATE runs SET owner = 0 WHERE run_id = $1", [run.run_id]));
      return run.run_id;
    };
    const first = await leave();
    const over = Promise.withResolvers<void>();
    meanwhile = async () => {
      meanwhile = undefined;
      const next = await runs.start(session, request("plain", { multitask_strategy: "enqueue" }));
      await runs.wait(next.run_id, never);
      over.resolve();
    };
    beat(true);
    await over.promise;
    expect(await statusOf(first)).toBe("success");
    // One take-over comes after the other.
    const second = await leave();
    beat(true);
    await expect.poll(() => statusOf(second)).toBe("success");
    await expect.poll(() => runs.isIdle()).toBe(true);
    expect(runs.numbers()).toMatchObject({ running: 0, waiting: 0 });
  });

  it("is executed where the server has taken it back while its former attempt had not ended", async () => {
    const [gate, leaving] = [createGate(), createGate()];
    const calls: Record<string, number> = {};
    const slow = withAttempts(storage, (store) => ({ release: () => leaving.pass().then(() => store.release()) }));
    const loseLease = vi.spyOn(storage.cluster, "onLeaseLost");
    const { runs, beat } = await startRuns({ gated: gatedGraph(gate, calls) }, slow);
    const [[onLost] = []] = loseLease.mock.calls;
    // The minute in which it takes up such runs is over when the attempt ends.
    storage.cluster.onLeaseLost(() => {
      const clock = vi.spyOn(performance, "now").mockReturnValue(performance.now() - 61_000);
      onLost?.();
      clock.mockRestore();
    });
    const session = await createSession(storage);
    const run = await runs.start(session, request("gated"));
    await gate.arrived;
    const { id } = storage.cluster;
    await withClient(url, (client) => client.query("DELETE FROM servers WHERE id = $1", [id]));
    await expect.poll(() => (storage.cluster.id === id ? [] : storage.runs.held())).toEqual([run.run_id]);
    gate.open();
    leaving.open();
    await expect.poll(() => runs.isIdle()).toBe(true);
    beat();
    await expect.poll(() => statusOf(run.run_id)).toBe("success");
    expect(calls["after"]).toBe(1);
  });
});
