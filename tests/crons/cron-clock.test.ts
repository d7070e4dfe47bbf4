import { StateGraph, START, END, StateSchema } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { type CronClock, startCronClock } from "@millrace/engine/crons/clock";
import { cronRequest } from "@millrace/engine/http/requests/cron-shapes";
import { AppError } from "@millrace/engine/errors/errors";
import { createLogger } from "@millrace/engine/logger";
import type { Runs } from "@millrace/engine/runs/runs";
import type { Cron } from "@millrace/engine/storage/record-stores";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { cronRecord } from "../contract/crons.ts";
import { runRecord, sessionRecord } from "../contract/records.ts";
import { createRuns, serve } from "../runs/fixtures.ts";

const minute = 60_000;
const iso = (minutes: number): string => new Date(minutes * minute).toISOString();
const cronId = "c3b5cd9c-93a1-4f5e-8a38-53b3d1d6a111";

let storage: SqliteStorage;
let runs: Runs;
let clock: CronClock | undefined;
let refusal: AppError | undefined;
let graphs: ReturnType<typeof serve>;

beforeEach(async () => {
  vi.useFakeTimers({ now: 0, toFake: ["Date", "setTimeout", "clearTimeout"] });
  storage = createSqliteStorage(":memory:");
  const idle = new StateGraph(new StateSchema({ at: z.string().default("") }))
    .addNode("do", () => ({ at: "done" }))
    .addEdge(START, "do")
    .addEdge("do", END)
    .compile();
  graphs = serve({ idle }, storage.checkpointer);
  runs = createRuns(storage, graphs);
  refusal = undefined;
  await storage.sessions.create(sessionRecord("s1"));
});
afterEach(async () => {
  await clock?.stop();
  vi.useRealTimers();
  await runs.drain(0);
  await storage.close();
});

function start(): void {
  clock = startCronClock({
    storage,
    runs: {
      start: (session, request) => (refusal === undefined ? runs.start(session, request) : Promise.reject(refusal)),
    },
    toRequest: (payload, session, temporary) => cronRequest({ runnable: storage, graphs }, payload, session, temporary),
    logger: createLogger("silent"),
  });
}

const make = (fields: Partial<Cron> = {}): Promise<Cron> =>
  storage.crons.create(
    cronRecord(cronId, {
      session_id: "s1",
      schedule: "*/10 * * * *",
      payload: { assistant_id: "idle" },
      next_run_date: iso(10),
      ...fields,
    }),
  );

/** The dates of the runs that were started until now. */
async function started(): Promise<string[]> {
  const all = await storage.runs.list("s1", { limit: 100, offset: 0 });
  return all.map(({ metadata }) => String(metadata["cron_date"])).toSorted();
}

/** Lets the time pass, and what it brings happen. */
async function pass(minutes: number): Promise<void> {
  for (let at = 0; at < minutes; at += 1) {
    await vi.advanceTimersByTimeAsync(minute);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  }
}

describe("the clock of crons", () => {
  it("starts each run at its time, that of a cron that comes later too", async () => {
    start();
    await pass(1);
    await make();
    await pass(8);
    expect(await started()).toEqual([]);
    await pass(1);
    expect(await started()).toEqual([iso(10)]);
    await pass(20);
    expect(await started()).toEqual([iso(10), iso(20), iso(30)]);
    expect(await storage.crons.get(cronId)).toMatchObject({ next_run_date: iso(40) });
  });

  it("starts what another server should have started, when ten seconds have passed", async () => {
    storage = { ...storage, cluster: { ...storage.cluster, isLeader: false } };
    await make();
    start();
    await pass(10);
    expect(await started()).toEqual([]);
    await pass(1);
    expect(await started()).toEqual([iso(10)]);
  });

  it("starts the run of a user of auth.path for that user, also in a thread of another one", async () => {
    await make({ owner: "user:ann" });
    start();
    await pass(10);
    const [run] = await storage.runs.list("s1", { limit: 1, offset: 0 });
    expect(run?.kwargs.owner).toBe("user:ann");
  });

  it("asks the store for nothing while nothing is due", async () => {
    await make({ next_run_date: iso(1000) });
    const due = vi.spyOn(storage.crons, "due");
    start();
    await pass(60);
    expect(due).toHaveBeenCalledTimes(1);
  });

  it("starts no run at the end or later", async () => {
    await make({ end_time: iso(25) });
    start();
    await pass(60);
    expect(await started()).toEqual([iso(10), iso(20)]);
    expect(await storage.crons.get(cronId)).toMatchObject({ next_run_date: null, enabled: true });
  });

  it("starts one run for all dates that were missed, and says how many", async () => {
    vi.setSystemTime(35 * minute);
    await make();
    start();
    await pass(1);
    expect(await storage.runs.list("s1", { limit: 10, offset: 0 })).toMatchObject([
      { metadata: { cron_id: cronId, cron_date: iso(10), cron_missed: 2 } },
    ]);
    expect(await storage.crons.get(cronId)).toMatchObject({ next_run_date: iso(40) });
  });

  it("starts no run of a cron that was taken away, switched off or moved meanwhile", async () => {
    await make();
    start();
    await pass(1);
    await storage.crons.update(cronId, { next_run_date: iso(20) });
    await pass(10);
    expect(await started()).toEqual([]);
    await storage.crons.update(cronId, { enabled: false, next_run_date: null });
    await pass(20);
    expect(await started()).toEqual([]);
  });

  it("starts a date's run once, however often it is tried", async () => {
    await make();
    start();
    clock = undefined;
    start();
    await pass(11);
    expect(await started()).toEqual([iso(10)]);
  });

  it("tries again what the server cannot take now, and makes it up", async () => {
    refusal = new AppError("rate_limit", "The queue is full.");
    await make();
    start();
    await pass(12);
    expect(await storage.crons.get(cronId)).toMatchObject({ next_run_date: iso(10) });
    refusal = undefined;
    await pass(1);
    expect(await started()).toEqual([iso(10)]);
  });

  it("passes a date over that is refused for good, and leaves no thread behind", async () => {
    refusal = new AppError("conflict", "Thread is already running a task.");
    await make({ session_id: null });
    start();
    await pass(11);
    expect(await storage.crons.get(cronId)).toMatchObject({ next_run_date: iso(20) });
    expect(await storage.sessions.search({ limit: 10, offset: 0 })).toMatchObject({ total: 1 });
  });

  it("passes a date over whose thread waits at a node that the graph no longer has", async () => {
    refusal = new AppError("invalid_state", 'The thread waits at the node "ask", which the graph no longer has.');
    await make();
    start();
    await pass(11);
    expect(await storage.crons.get(cronId)).toMatchObject({ next_run_date: iso(20) });
  });

  it("keeps the thread of a date that it cannot run where another server starts the run at that moment", async () => {
    refusal = new AppError("rate_limit", "The queue is full.");
    const { sessions, runs: stored } = storage;
    let isFirst = true;
    const after =
      (remove: (id: string) => Promise<boolean>) =>
      async (id: string): Promise<boolean> => {
        if (isFirst) await stored.admit(runRecord("elsewhere", id));
        isFirst = false;
        return await remove(id);
      };
    const removing = {
      delete: after((id) => sessions.delete(id)),
      deleteUnused: after((id) => sessions.deleteUnused(id)),
    };
    storage = { ...storage, sessions: { ...sessions, ...removing } };
    await make({ session_id: null });
    start();
    await pass(11);
    expect(await stored.get("elsewhere")).toMatchObject({ status: "pending" });
  });

  it("starts the run of a date whose thread another server, which was refused, takes back at that moment", async () => {
    const { sessions, runs: stored } = storage;
    let isFirst = true;
    const create: typeof sessions.create = async (...session) => {
      const made = await sessions.create(...session);
      if (isFirst) await sessions.deleteUnused(made.session_id);
      isFirst = false;
      return made;
    };
    storage = { ...storage, sessions: { ...sessions, create } };
    await make({ session_id: null });
    start();
    await pass(11);
    const { sessions: found } = await sessions.search({ limit: 10, offset: 0, metadata: { cron_id: cronId } });
    expect(found).toHaveLength(1);
    const all = await stored.list(found[0]?.session_id ?? "", { limit: 10, offset: 0 });
    expect(all).toMatchObject([{ metadata: { cron_date: iso(10) } }]);
  });

  it.each([{ payload: { assistant_id: "gone" } }, { schedule: "of old" }, { timezone: "Mars/Base" }])(
    "goes on with the others when one with %j cannot be run",
    async (fields) => {
      await make();
      await storage.crons.create(cronRecord(crypto.randomUUID(), { ...fields, next_run_date: iso(5) }));
      start();
      await pass(11);
      expect(await started()).toEqual([iso(10)]);
      expect(await storage.crons.due(iso(11))).toEqual([]);
    },
  );
});
