import { END, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { startRetention } from "@millrace/engine/runs/events/retention";
import { workflow } from "../../../src/graph/workflow.ts";
import type { Run } from "@millrace/engine/storage/records";
import { createTestStorage } from "../../support/test-storage.ts";
import {
  collect,
  createHarness,
  createGate,
  createRuns,
  createSession,
  gatedGraph,
  never,
  plainGraph,
  request,
  serve,
  settle,
  State,
  type Harness,
} from "../fixtures.ts";

/** What a new process finds: the same rows and checkpoints, nothing in memory. */
function restart({ storage }: Harness, graphs: Record<string, unknown>) {
  return createRuns(storage, serve(graphs, storage.checkpointer));
}

/** A node that is a graph of three steps; the middle one waits at the gate. */
function nestedGatedGraph(gate: ReturnType<typeof createGate>, calls: Record<string, number>) {
  return new StateGraph(State)
    .addNode("inside", gatedGraph(gate, calls))
    .addNode("last", (state) => ({ steps: [...state.steps, "last"] }))
    .addEdge(START, "inside")
    .addEdge("inside", "last")
    .addEdge("last", END)
    .compile();
}

/** A node that calls a graph, as our nodes call the loop. */
function callingGraph(gate: ReturnType<typeof createGate>, calls: Record<string, number>) {
  const called = gatedGraph(gate, calls);
  return new StateGraph(State)
    .addNode("caller", async (_state, config) => {
      const { steps } = await called.invoke({ messages: [], steps: [] }, config);
      return { steps: [...steps, "caller"] };
    })
    .addEdge(START, "caller")
    .addEdge("caller", END)
    .compile();
}

describe("a drain", () => {
  it.each([
    ["a graph", gatedGraph, ["before", "waits", "after"]],
    ["a graph in a graph", nestedGatedGraph, ["before", "waits", "after", "last"]],
    ["a graph that a node calls", callingGraph, ["before", "waits", "after", "caller"]],
  ])("parks %s before its next step, and the next start goes on there without counting a crash", async (...row) => {
    const [, graph, steps] = row;
    const calls: Record<string, number> = {};
    const gate = createGate();
    const bench = await createHarness({ agent: graph(gate, calls) });
    const run = await bench.runs.start(bench.session, request("agent"));
    await gate.arrived;
    const drained = bench.runs.drain(60_000);
    gate.open();
    await drained;
    expect(bench.storage.rows.run(run.run_id)).toMatchObject({ status: "running", attempt: 1 });
    expect(calls).toEqual({ before: 1, waits: 1 });
    const runs = restart(bench, { agent: graph(gate, calls) });
    expect(await runs.recover()).toEqual({ resumed: 1 });
    const ended = await runs.wait(run.run_id, never);
    expect(ended).toMatchObject({ status: "success", attempt: 2, crashes: 0 });
    expect(runs.lastValues(ended)).toMatchObject({ steps });
    expect(calls).toEqual({ before: 1, waits: 1, after: 1 });
  });

  it("lets a client's stop win", async () => {
    const gate = createGate();
    const { runs, session } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    const drained = runs.drain(60_000);
    expect((await runs.cancel(run.run_id, { action: "interrupt", wait: true }))?.status).toBe("interrupted");
    await drained;
  });

  it("counts no crash however often the server is stopped in time", async () => {
    const gate = createGate();
    const graphs = { agent: gatedGraph(gate) };
    const bench = await createHarness(graphs);
    const run = await bench.runs.start(bench.session, request("agent"));
    await gate.arrived;
    await bench.runs.drain(0);
    for (let time = 0; time < 5; time += 1) {
      const runs = restart(bench, graphs);
      await runs.recover();
      await settle();
      await runs.drain(0);
    }
    gate.open();
    const runs = restart(bench, graphs);
    await runs.recover();
    expect(await runs.wait(run.run_id, never)).toMatchObject({ status: "success", attempt: 7, crashes: 0 });
  });
});

describe("a run that takes the process with it", () => {
  it("is set aside after the third time, without being begun again; its session is usable", async () => {
    const bench = await createHarness({ agent: plainGraph() });
    const done = await bench.runs.wait((await bench.runs.start(bench.session, request("agent"))).run_id, never);
    const deadly: Run = { ...done, run_id: crypto.randomUUID(), status: "running", attempt: 3, crashes: 2 };
    bench.storage.rows.putRun(deadly);
    const begun: Record<string, number> = {};
    const gate = createGate();
    gate.open();
    const runs = restart(bench, { agent: gatedGraph(gate, begun) });
    await runs.recover();
    const ended = await runs.wait(deadly.run_id, never);
    expect(ended).toMatchObject({ status: "error", crashes: 3, error: { error: "crash_loop" } });
    expect(begun).toEqual({});
    expect((await collect(runs.follow(deadly.run_id, -1, never))).at(-1)).toMatchObject({
      event: "error",
      data: { error: "crash_loop" },
    });
    const next = await runs.start(bench.session, request("agent"));
    expect((await runs.wait(next.run_id, never)).status).toBe("success");
    expect(bench.storage.rows.session(bench.session.session_id)?.status).toBe("idle");
  });

  it("has two more tries before that", async () => {
    const bench = await createHarness({ agent: plainGraph() });
    const done = await bench.runs.wait((await bench.runs.start(bench.session, request("agent"))).run_id, never);
    const hurt: Run = { ...done, run_id: crypto.randomUUID(), status: "running", attempt: 2, crashes: 1 };
    bench.storage.rows.putRun(hurt);
    const runs = restart(bench, { agent: plainGraph() });
    await runs.recover();
    expect(await runs.wait(hurt.run_id, never)).toMatchObject({ status: "success", attempt: 3, crashes: 2 });
  });
});

describe("a stopped run that takes the process with it while its turn is kept", () => {
  it.each([
    [0, true],
    [2, false],
  ])("is ended without that after the third time (before: %i, its turn is kept: %s)", async (crashes, isKept) => {
    const graphs = { agent: workflow.compile() };
    const bench = await createHarness(graphs);
    const run = await bench.runs.start(bench.session, request("agent", { after_seconds: 3600 }));
    await bench.runs.drain(0);
    const stopped = { status: "running", attempt: crashes + 1, crashes, stop_requested: "interrupt" } as const;
    bench.storage.rows.putRun({ ...run, ...stopped });
    const runs = restart(bench, graphs);
    await runs.recover();
    expect(await runs.wait(run.run_id, never)).toMatchObject({ status: "interrupted", crashes: crashes + 1 });
    const place = { configurable: { thread_id: bench.session.session_id } };
    expect((await bench.storage.checkpointer.getTuple(place)) !== undefined).toBe(isKept);
  });
});

describe("runs on their last try", () => {
  it("are taken up alone also where they were stopped, so that ending one costs the others no try", async () => {
    const bench = await createHarness({ agent: plainGraph() });
    const done = await bench.runs.wait((await bench.runs.start(bench.session, request("agent"))).run_id, never);
    const runOf = async (fields: Partial<Run>): Promise<Run> => {
      const { session_id } = await createSession(bench.storage);
      const run: Run = { ...done, ...fields, session_id, run_id: crypto.randomUUID(), status: "running", attempt: 2 };
      bench.storage.rows.putRun(run);
      return run;
    };
    const working = await runOf({ crashes: 1 });
    const stopped = await runOf({ crashes: 1, stop_requested: "interrupt" });
    const gate = createGate();
    const runs = restart(bench, { agent: gatedGraph(gate) });
    await runs.recover();
    await gate.arrived;
    await settle();
    expect(bench.storage.rows.run(stopped.run_id)?.attempt).toBe(2);
    gate.open();
    expect((await runs.wait(working.run_id, never)).status).toBe("success");
    expect((await runs.wait(stopped.run_id, never)).status).toBe("interrupted");
  });

  it("are taken up one after the other, so that one of them cannot use up the budget of the rest", async () => {
    const bench = await createHarness({ agent: plainGraph() });
    const done = await bench.runs.wait((await bench.runs.start(bench.session, request("agent"))).run_id, never);
    const suspects: Run[] = [];
    for (const crashes of [1, 1, 0]) {
      const { session_id } = await createSession(bench.storage);
      const run: Run = { ...done, session_id, run_id: crypto.randomUUID(), status: "running", attempt: 2, crashes };
      bench.storage.rows.putRun(run);
      suspects.push(run);
    }
    const gate = createGate();
    const runs = restart(bench, { agent: gatedGraph(gate) });
    expect(await runs.recover()).toEqual({ resumed: 3 });
    await gate.arrived;
    await settle();
    const attempts = (): (number | undefined)[] =>
      suspects.map(({ run_id }) => bench.storage.rows.run(run_id)?.attempt);
    expect(attempts()).toEqual([3, 2, 3]);
    gate.open();
    const ended = await Promise.all(suspects.map(({ run_id }) => runs.wait(run_id, never)));
    expect(ended.map(({ status, crashes }) => [status, crashes])).toEqual([
      ["success", 2],
      ["success", 2],
      ["success", 1],
    ]);
  });
});

describe("an attempt that another has taken over", () => {
  it("writes neither an end nor events", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    const waiting = runs.wait(run.run_id, never);
    await gate.arrived;
    const row = storage.rows.run(run.run_id);
    if (row !== undefined) storage.rows.putRun({ ...row, attempt: 2 });
    const lastId = await storage.events.last(run.run_id);
    gate.open();
    await expect(waiting).rejects.toMatchObject({ code: "server" });
    expect(storage.rows.run(run.run_id)).toMatchObject({ status: "running", attempt: 2 });
    expect(await storage.events.last(run.run_id)).toBe(lastId);
  });
});

describe("runs that wait", () => {
  const enqueue = { multitask_strategy: "enqueue" } as const;

  it("know how many of their session come before them", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const started = [];
    for (const _ of [0, 1, 2]) started.push(await runs.start(session, request("agent", enqueue)));
    const other = await runs.start(await createSession(storage), request("agent", { after_seconds: 3600 }));
    const placesOf = (all: Run[]) => Promise.all(all.map((run) => runs.placeOf(run)));
    await gate.arrived;
    expect(await placesOf(started)).toEqual([undefined, 1, 2]);
    expect(await runs.placeOf(other)).toBe(0);
    await runs.cancel(started[1]?.run_id ?? "", { action: "interrupt", wait: true });
    expect(await placesOf(started)).toEqual([undefined, undefined, 1]);
    gate.open();
  });

  it("behind a stopped run are stopped too when that is asked for, those before and elsewhere are not", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const started = [];
    for (const _ of [0, 1, 2, 3]) started.push(await runs.start(session, request("agent", enqueue)));
    const [, second, third, fourth] = started;
    const other = await runs.start(await createSession(storage), request("agent", { after_seconds: 3600 }));
    await gate.arrived;
    await runs.cancel(third?.run_id ?? "", { action: "interrupt", wait: true, clearQueue: true });
    expect(started.map(({ run_id }) => storage.rows.run(run_id)?.status)).toEqual([
      "running",
      "pending",
      "interrupted",
      "interrupted",
    ]);
    expect(storage.rows.run(other.run_id)?.status).toBe("pending");
    expect(fourth?.run_id).not.toBe(second?.run_id);
    await runs.cancel(started[0]?.run_id ?? "", { action: "interrupt", wait: true, clearQueue: true });
    expect(storage.rows.run(second?.run_id ?? "")?.status).toBe("interrupted");
    expect(storage.rows.session(session.session_id)?.status).not.toBe("busy");
  });
});

describe("a gap", () => {
  it("is sent to a reader whose id the run has not, live and afterwards, and to no other", async () => {
    const gate = createGate();
    const { runs, session } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    await settle();
    for (const known of [-1, 0, 1, 2]) expect(await runs.findGap(run, known)).toBeUndefined();
    expect(await runs.findGap(run, 7)).toEqual({ from: 3, to: 7, after: -1 });
    gate.open();
    const ended = await runs.wait(run.run_id, never);
    for (const known of [-1, 0, 2, 4]) expect(await runs.findGap(ended, known)).toBeUndefined();
    expect(await runs.findGap(ended, 5)).toEqual({ from: 5, to: 5, after: -1 });
  });

  it("is sent where a crash has taken what was sent but not yet stored", async () => {
    const gate = createGate();
    const bench = await createHarness({ agent: gatedGraph(gate) });
    const run = await bench.runs.start(bench.session, request("agent"));
    await gate.arrived;
    await settle();
    await bench.runs.drain(0);
    const runs = restart(bench, { agent: gatedGraph(gate) });
    await runs.recover();
    const row = (await runs.get(run.run_id)) ?? run;
    expect(await runs.findGap(row, 2)).toBeUndefined();
    expect(await runs.findGap(row, 40)).toEqual({ from: 41, to: 999, after: 40 });
    gate.open();
    const ended = await runs.wait(run.run_id, never);
    expect(await runs.findGap(ended, 2)).toBeUndefined();
    expect(await runs.findGap(ended, 40)).toEqual({ from: 41, to: 999, after: 40 });
  });

  it("is sent for what retention has removed, which leaves what is not over alone", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: plainGraph(), gated: gatedGraph(gate) });
    const ended = await runs.wait((await runs.start(session, request("agent"))).run_id, never);
    const running = await runs.start(await createSession(storage), request("gated"));
    await gate.arrived;
    const options = { events: storage.events, logger: createLogger("silent") };
    const patient = startRetention({ ...options, hours: 24 });
    await patient.stop();
    expect(await collect(runs.follow(ended.run_id, -1, never))).toHaveLength(4);
    const hasty = startRetention({ ...options, hours: -1 });
    await hasty.sweep();
    await hasty.stop();
    const row = (await runs.get(ended.run_id)) ?? ended;
    expect(await runs.findGap(row, -1)).toEqual({ from: 0, to: 3, after: -1 });
    expect(await runs.findGap(row, 1)).toEqual({ from: 2, to: 3, after: 1 });
    expect(await runs.findGap(row, 3)).toBeUndefined();
    expect(await runs.findGap(row, 9)).toEqual({ from: 4, to: 9, after: -1 });
    expect(await collect(runs.follow(ended.run_id, -1, never))).toEqual([]);
    gate.open();
    expect(await collect(runs.follow(running.run_id, -1, never))).toHaveLength(5);
  });
});

describe("a run that is admitted while the server stops", () => {
  it("begins after the next start, which counts no crash, or waits for it where there is no room", async () => {
    const storage = createTestStorage();
    const admit = storage.runs.admit.bind(storage.runs);
    let stopped: Promise<void> | undefined;
    storage.runs.admit = async (...given) => {
      const admitted = await admit(...given);
      stopped ??= bench.runs.drain(0);
      return admitted;
    };
    const bench = await createHarness({ agent: plainGraph() }, storage);
    const run = await bench.runs.start(bench.session, request("agent"));
    expect(run).toMatchObject({ status: "pending", attempt: 0 });
    await stopped;
    expect(storage.rows.run(run.run_id)).toMatchObject({ status: "running", attempt: 1 });
    const next = restart(bench, { agent: plainGraph() });
    expect(await next.recover()).toEqual({ resumed: 1 });
    expect(await next.wait(run.run_id, never)).toMatchObject({ status: "success", attempt: 2, crashes: 0 });
    await next.drain(0);
  });

  it("gives its place back where it is refused", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    const admit = storage.runs.admit.bind(storage.runs);
    storage.runs.admit = () => Promise.reject(new Error("the disk is full"));
    await expect(runs.start(session, request("agent"))).rejects.toThrow("the disk is full");
    storage.runs.admit = admit;
    const run = await runs.start(session, request("agent"));
    expect((await runs.wait(run.run_id, never)).status).toBe("success");
  });
});

describe("retention", () => {
  it("tries again later when the store refuses", async () => {
    const storage = createTestStorage();
    let refusals = 0;
    storage.events.expire = () => {
      refusals += 1;
      return Promise.reject(new Error("the disk is full"));
    };
    const retention = startRetention({ events: storage.events, hours: 1, logger: createLogger("silent") });
    await retention.sweep();
    await retention.sweep();
    await retention.stop();
    expect(refusals).toBe(2);
  });
});
