import { describe, expect, it } from "vitest";
import type { TestStorage } from "../../support/test-storage.ts";
import {
  createHarness,
  createGate,
  createRuns,
  createSession,
  gatedGraph,
  never,
  plainGraph,
  request,
  serve,
} from "../fixtures.ts";

const enqueue = { multitask_strategy: "enqueue" } as const;

/** The next process, which serves these graphs. */
function restart(storage: TestStorage, graphs: Record<string, unknown>) {
  return createRuns(storage, serve(graphs, storage.checkpointer));
}

/** A run under way, one that waits behind it, and a start that serves their graph no longer. */
async function loseGraph() {
  const gate = createGate();
  const calls: Record<string, number> = {};
  const { storage, runs, session } = await createHarness({ agent: gatedGraph(gate, calls), other: plainGraph() });
  const underWay = await runs.start(session, request("agent"));
  await gate.arrived;
  const queued = await runs.start(session, request("agent", enqueue));
  await runs.drain(0);
  const next = restart(storage, { other: plainGraph() });
  const recovered = await next.recover();
  return { storage, session, underWay, queued, runs: next, recovered, gate, calls };
}

const statuses = async (storage: TestStorage, ...ids: string[]) =>
  Promise.all(ids.map(async (id) => (await storage.runs.get(id))?.status));

describe("runs of a graph that does not load", () => {
  it("stay as they are while other sessions work, and finish in their order when it is back", async () => {
    const { storage, session, underWay, queued, runs, recovered, gate, calls } = await loseGraph();
    expect(recovered).toEqual({ resumed: 0 });
    const elsewhere = await runs.start(await createSession(storage), request("other"));
    expect((await runs.wait(elsewhere.run_id, never)).status).toBe("success");
    // What is sent to their session meanwhile comes after them.
    const later = await runs.start(session, request("other", enqueue));
    const ids = [underWay.run_id, queued.run_id, later.run_id];
    expect(await statuses(storage, ...ids)).toEqual(["running", "pending", "pending"]);
    expect(runs.isIdle()).toBe(true);
    await runs.drain(0);

    gate.open();
    const mended = restart(storage, { agent: gatedGraph(gate, calls), other: plainGraph() });
    expect(await mended.recover()).toEqual({ resumed: 1 });
    for (const id of ids) expect((await mended.wait(id, never)).status).toBe("success");
    const ends = await Promise.all(ids.map(async (id) => (await storage.runs.get(id))?.updated_at ?? ""));
    expect(ends).toEqual(ends.toSorted());
    await mended.drain(0);
  });

  it("can be stopped, which lets through what waits behind them", async () => {
    const { storage, session, underWay, queued, runs } = await loseGraph();
    const later = await runs.start(session, request("other", enqueue));
    for (const { run_id } of [underWay, queued]) {
      expect((await runs.cancel(run_id, { action: "interrupt", wait: true }))?.status).toBe("interrupted");
    }
    expect((await runs.wait(later.run_id, never)).status).toBe("success");
    expect(await statuses(storage, underWay.run_id, queued.run_id)).toEqual(["interrupted", "interrupted"]);
    await runs.drain(0);
  });
});
