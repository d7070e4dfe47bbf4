import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { runRecord, sessionRecord } from "../../contract/records.ts";
import { createGate, createRuns, createSession, gatedGraph, never, request, serve } from "../../runs/fixtures.ts";
import { startPostgres } from "../../support/processes/postgres.ts";
import { createServers } from "../two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** Two storages on one database, which know of each other. */
async function openTwo() {
  const servers = await createServers(postgres);
  onTestFinished(() => servers.close());
  const [one, other] = [await servers.open(), await servers.open()];
  await expect.poll(() => one.cluster.serverCount).toBe(2);
  const give = (runId: string, { cluster }: OpenedStorage) =>
    servers.query(`UPDATE runs SET owner = ${cluster.id} WHERE run_id = '${runId}'`);
  return { servers, one, other, give };
}

/** Smaller than any id that is made of a time. */
const early = "00000000-0000-6000-8000-000000000001";

/** A checkpoint that is written by an attempt of the run: its own, or one after `parent` by a machine whose clock was set back. */
async function write(storage: OpenedStorage, run_id: string, number: number, parent?: string) {
  const attempt = storage.attempt({ session_id: await sessionOf(storage, run_id), run_id, attempt: number });
  const saver = attempt.checkpointer({ flushWith: (send) => send([], []) });
  const fresh = emptyCheckpoint();
  const checkpoint = parent === undefined ? fresh : { ...fresh, id: early };
  const thread_id = await sessionOf(storage, run_id);
  const place = { configurable: { thread_id, checkpoint_ns: "", run_id, checkpoint_id: parent } };
  await saver.put(place, checkpoint, { source: "loop", step: number, parents: {} }, {});
  return { attempt, id: checkpoint.id };
}

async function sessionOf({ runs }: OpenedStorage, runId: string): Promise<string> {
  return (await runs.get(runId))?.session_id ?? "";
}

const newest = async ({ checkpointer }: OpenedStorage, thread_id: string): Promise<string | undefined> =>
  (await checkpointer.getTuple({ configurable: { thread_id, checkpoint_ns: "" } }))?.checkpoint.id;

describe.skipIf(postgres === undefined)("what a server remembers of a session", () => {
  it("is read anew after an attempt whose writes PostgreSQL has lost", async () => {
    const { servers, one, other, give } = await openTwo();
    await one.sessions.create(sessionRecord("s1"));
    await one.runs.admit(runRecord("r1", "s1"));
    await one.runs.claim("s1");
    const { attempt, id } = await write(one, "r1", 1);
    await servers.query("UPDATE runs SET writes = 0");
    await expect(attempt.append([{ id: 0, event: "values", namespace: [], data: {} }])).rejects.toMatchObject({
      code: "storage_unavailable",
    });
    expect(attempt.isLost).toBe(true);
    expect(await newest(one, "s1")).toBe(id);
    await give("r1", other);
    await other.runs.reclaim("r1");
    await write(other, "r1", 2, id);
    expect(await newest(one, "s1")).toBe(early);
  });

  it("is read anew by an attempt, also where the one before has not ended here", async () => {
    const { one, other, give } = await openTwo();
    await one.sessions.create(sessionRecord("s1"));
    await one.runs.admit(runRecord("r1", "s1"));
    await one.runs.claim("s1");
    const { id } = await write(one, "r1", 1);
    await give("r1", other);
    await other.runs.reclaim("r1");
    await write(other, "r1", 2, id);
    await give("r1", one);
    await one.runs.reclaim("r1");
    one.attempt({ session_id: "s1", run_id: "r1", attempt: 3 });
    expect(await newest(one, "s1")).toBe(early);
  });
});

describe.skipIf(postgres === undefined)("a run that its server has lost", () => {
  it("is let go of where another server has it by then: its readers follow that one, and its states are read anew", async () => {
    const { servers, one, other, give } = await openTwo();
    const looked = Promise.withResolvers<void>();
    const reclaim = async (runId: string) => {
      await give(runId, other);
      const run = await one.runs.reclaim(runId);
      // After what the caller does with the answer.
      setImmediate(looked.resolve);
      return run;
    };
    const storage = { ...one, runs: { ...one.runs, reclaim } };
    const gate = createGate();
    const runs = createRuns(storage, serve({ agent: gatedGraph(gate) }, one.checkpointer));
    onTestFinished(() => runs.drain(0));
    const session = await createSession(one);
    const { run_id } = await runs.start(session, request("agent"));
    await gate.arrived;
    await servers.query("UPDATE runs SET writes = 0");
    gate.open();
    await looked.promise;
    const { session_id } = session;
    const before = await newest(one, session_id);
    const run = await other.runs.reclaim(run_id);
    const { attempt } = await write(other, run_id, run?.attempt ?? 0, before);
    expect(await newest(one, session_id)).toBe(early);
    const waiting = runs.wait(run_id, never);
    await attempt.finish({ status: "success", session_status: "idle", interrupts: {} });
    expect((await waiting).status).toBe("success");
  });
});
