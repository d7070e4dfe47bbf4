import { withAttempts, createTestStorage } from "../../support/test-storage.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaseMessage } from "@langchain/core/messages";
import { interrupt, START, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Runs } from "@millrace/engine/runs/runs";
import type { Run } from "@millrace/engine/storage/records";
import type { SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import type { RunStore, Storage } from "@millrace/engine/storage/storage";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { crashCopy, openIn } from "../recovery/crash-copy.ts";
import {
  collect,
  createHarness,
  createGate,
  createRuns,
  createSession,
  gatedGraph,
  never,
  request,
  serve,
  settle,
  State,
} from "../fixtures.ts";
import { startStopBench } from "./stop-bench.ts";

let folder: string;
let opened: SqliteStorage[];
let served: Runs[];
const calls: Record<string, number> = {};
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-stop-crash-"));
  opened = [];
  served = [];
  for (const name of Object.keys(calls)) delete calls[name];
});
afterEach(async () => {
  for (const runs of served) await runs.drain(0);
  for (const storage of opened) await storage.close();
  await rm(folder, { recursive: true });
});

function open(place: string): SqliteStorage {
  const storage = openIn(place);
  opened.push(storage);
  return storage;
}

function start(storage: Storage, gate = createGate()): Runs {
  const runs = createRuns(storage, serve({ agent: gatedGraph(gate, calls) }, storage.checkpointer));
  served.push(runs);
  return runs;
}

/** Where the process ends: before the states of a run that is rolled back go, before its end, or in an operation of the store. */
type Place = keyof RunStore | "states" | "finish";

/** A storage that is dead in one place, as it is when the process ends there. A removal is under way until `copied`. */
function deadAt(storage: Storage, operation: Place, copied = Promise.resolve()): Storage {
  const dead = async (): Promise<never> => {
    if (operation === "delete") await copied;
    throw new Error("the process is dead");
  };
  if (operation === "states") return storage;
  if (operation === "finish") return withAttempts(storage, () => ({ finish: dead }));
  return { ...storage, runs: { ...storage.runs, [operation]: dead } };
}

/** A process that ends in the middle of a stop, and the next one over what it has left. */
async function crashDuringStop(options: { action: "interrupt" | "rollback"; at: Place; queued?: boolean }) {
  const first = open(folder);
  const gate = createGate();
  const copied = Promise.withResolvers<void>();
  const removing = Promise.withResolvers<void>();
  if (options.at === "states") {
    // Nothing else happens after the moment of the crash.
    first.checkpointer.deleteRun = () => {
      removing.resolve();
      return copied.promise;
    };
  }
  const runs = start(deadAt(first, options.at, copied.promise), gate);
  const session = await createSession(first);
  const walking = await runs.start(session, request("agent"));
  const queued = await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
  await gate.arrived;
  await settle();
  const run = options.queued === true ? queued : walking;
  // The answer of a queued one waits for its end, which never comes here; what was noted is on disk by then.
  const answered = runs.cancel(run.run_id, { action: options.action, wait: false });
  if (options.queued === true) answered.catch(() => undefined);
  else await answered;
  while ((await first.runs.get(run.run_id))?.stop_requested === null) await settle();
  if (options.at === "states") await removing.promise;
  if (options.at === "delete") while (isGoing(await first.runs.get(run.run_id))) await settle();
  const isRemoved = options.action === "rollback" && options.at === "finish";
  if (isRemoved) while (first.checkpointer.hasRun(session.session_id, run.run_id)) await settle();
  const copy = crashCopy(folder, join(folder, "after"));
  copied.resolve();
  const free = createGate();
  free.open();
  const storage = open(copy);
  return { storage, run, other: options.queued === true ? walking : queued, session, next: start(storage, free) };
}

function isGoing(run: Run | undefined): boolean {
  return run?.status === "running" || run?.status === "pending";
}

describe("a crash between a stop and the end of its run", () => {
  it("ends a run that walked without walking it again; the one behind it goes on", async () => {
    const { storage, next, run, other } = await crashDuringStop({ action: "interrupt", at: "finish" });
    expect(await storage.runs.get(run.run_id)).toMatchObject({ status: "running", stop_requested: "interrupt" });
    const before = { ...calls };
    expect(await next.recover()).toEqual({ resumed: 0 });
    expect(await next.wait(run.run_id, never)).toMatchObject({ status: "interrupted", attempt: 2, error: null });
    expect((await next.wait(other.run_id, never)).status).toBe("success");
    // Only the other one has walked: each of its three steps once.
    const walked = Object.entries(calls).map(([name, count]) => [name, count - (before[name] ?? 0)]);
    expect(Object.fromEntries(walked)).toEqual({ before: 1, waits: 1, after: 1 });
    expect(await storage.sessions.get(run.session_id)).toMatchObject({ status: "idle" });
    const ids = (await collect(next.follow(run.run_id, -1, never))).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("ends one that waited, and goes on with the one before it", async () => {
    const { storage, next, run, other } = await crashDuringStop({ action: "interrupt", at: "finish", queued: true });
    expect(await storage.runs.get(run.run_id)).toMatchObject({ status: "pending", stop_requested: "interrupt" });
    expect(await next.recover()).toEqual({ resumed: 1 });
    expect((await next.wait(other.run_id, never)).status).toBe("success");
    expect(await next.wait(run.run_id, never)).toMatchObject({ status: "interrupted", attempt: 0 });
    expect(calls).toMatchObject({ after: 1 });
  });

  it.each(["states", "finish", "delete"] as const)(
    "removes one that is rolled back, with its checkpoints (at %s)",
    async (at) => {
      const { storage, next, run, other, session } = await crashDuringStop({ action: "rollback", at });
      expect(storage.checkpointer.hasRun(session.session_id, run.run_id)).toBe(at === "states");
      expect(isGoing(await storage.runs.get(run.run_id))).toBe(at !== "delete");
      expect(await next.recover()).toEqual({ resumed: 0 });
      expect((await next.wait(other.run_id, never)).status).toBe("success");
      expect(await storage.runs.get(run.run_id)).toBeUndefined();
      expect(storage.checkpointer.hasRun(session.session_id, run.run_id)).toBe(false);
      expect(await storage.sessions.get(session.session_id)).toMatchObject({ status: "idle" });
    },
  );

  it("gives a session back the question that a rolled back run had answered", async () => {
    const first = open(folder);
    const gate = createGate();
    const asking = (opened: Storage) =>
      new StateGraph(State)
        .addNode("asks", () => ({ steps: [String(interrupt({ question: "sure?" }))] }))
        .addNode("waits", async (_, config) => gate.pass(config.signal).then(() => ({})))
        .addEdge(START, "asks")
        .addEdge("asks", "waits")
        .compile({ checkpointer: opened.checkpointer });
    const dead = (): Promise<never> => Promise.reject(new Error("the process is dead"));
    const storage = { ...first, sessions: { ...first.sessions, update: dead } };
    const runs = createRuns(storage, serve({ agent: asking(first) }, first.checkpointer));
    served.push(runs);
    const session = await createSession(first);
    await runs.wait((await runs.start(session, request("agent"))).run_id, never);
    const asked = await first.sessions.get(session.session_id);
    const answer = request("agent", { input: undefined, command: { resume: "yes" } });
    const run = await runs.start(asked ?? session, answer);
    await gate.arrived;
    await runs.cancel(run.run_id, { action: "rollback", wait: true });

    const after = open(crashCopy(folder, join(folder, "after")));
    const next = createRuns(after, serve({ agent: asking(after) }, after.checkpointer));
    served.push(next);
    await next.recover();
    expect(await after.runs.get(run.run_id)).toBeUndefined();
    expect(await after.sessions.get(session.session_id)).toMatchObject({
      status: "interrupted",
      interrupts: asked?.interrupts,
    });
    expect(await after.approvals.pending(session.session_id)).toHaveLength(1);
  });

  it.each(["interrupt", "rollback"] as const)(
    "leaves one run of two where the process ends right after the admission with %s",
    async (strategy) => {
      const first = open(folder);
      const gate = createGate();
      let copy: string | undefined;
      const admit: RunStore["admit"] = async (...args) => {
        const admitted = await first.runs.admit(...args);
        if (admitted.run.multitask_strategy === strategy) copy = crashCopy(folder, join(folder, "after"));
        return admitted;
      };
      const runs = start({ ...first, runs: { ...first.runs, admit } }, gate);
      const session = await createSession(first);
      const earlier = await runs.start(session, request("agent"));
      const waiting = await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
      await gate.arrived;
      const later = await runs.start(session, request("agent", { multitask_strategy: strategy }));

      const free = createGate();
      free.open();
      const storage = open(copy ?? "");
      const next = start(storage, free);
      expect((await storage.runs.unfinished()).map(({ stop_requested }) => stop_requested)).toEqual([
        strategy,
        strategy,
        null,
      ]);
      await next.recover();
      expect((await next.wait(later.run_id, never)).status).toBe("success");
      const ended = await Promise.all([earlier, waiting].map(({ run_id }) => storage.runs.get(run_id)));
      const status = strategy === "rollback" ? undefined : "interrupted";
      expect(ended.map((run) => run?.status)).toEqual([status, status]);
    },
  );
});

describe("a turn whose stop was cut short by a crash", () => {
  const words = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
  const script: ModelStep[] = [
    { toolCalls: [{ name: "add_item", arguments: { title: "first" }, id: "first" }] },
    { text: words, hold: { after: 30, until: new Promise<never>(() => undefined) } },
  ];

  it.each([
    ["before it is kept: without the text that only memory knew", "requestStop", ["human", "ai", "tool", "ai"]],
    ["before its end is written: whole", "finish", ["human", "ai", "tool", "ai"]],
  ] as const)("is kept as far as it is on disk, and the next message is answered (%s)", async (_, at, kept) => {
    const first = open(folder);
    const died = Promise.withResolvers<string>();
    const die = async (): Promise<never> => {
      // Asked first, the note is on disk before an end can be.
      while ((await first.runs.unfinished()).some((run) => run.stop_requested === null)) await settle();
      died.resolve(crashCopy(folder, join(folder, "after")));
      return await new Promise(() => undefined);
    };
    const runStore: RunStore = {
      ...first.runs,
      requestStop: async (...args) => {
        const isNoted = await first.runs.requestStop(...args);
        if (at === "requestStop") await die();
        return isNoted;
      },
    };
    // What comes after the moment of the crash must not be in the copy; this one is the moment.
    const finish = at === "finish" ? die : () => new Promise<never>(() => undefined);
    const dying = withAttempts(first, () => ({ finish }));
    // A process that is dead keeps nothing: its turn waits behind the note.
    const checkpointer = at === "finish" ? first.checkpointer : unwritable(first.checkpointer, died.promise);
    const before = await startStopBench({ script, storage: { ...dying, checkpointer, runs: runStore } });
    const { run, reader } = await before.start("Add a task");
    await reader.until(() => [...reader.text().values()].some(({ content }) => content.endsWith("word29")));
    const answered = before.runs.cancel(run.run_id, { action: "interrupt", wait: false });
    answered.catch(() => undefined);
    const storage = open(await died.promise);

    const after = await startStopBench({ script: [{ text: "I am still here." }], storage });
    try {
      expect(await after.runs.recover()).toEqual({ resumed: 0 });
      expect(await after.runs.wait(run.run_id, never)).toMatchObject({ status: "interrupted" });
      const messages = async (): Promise<BaseMessage[]> => {
        const tuple = await storage.checkpointer.getTuple({ configurable: { thread_id: run.session_id } });
        return tuple?.checkpoint.channel_values["messages"] as BaseMessage[];
      };
      expect((await messages()).map((message) => message.getType())).toEqual(kept);
      const session = await storage.sessions.get(run.session_id);
      if (session === undefined) throw new Error("The session is gone.");
      const next = await after.runs.start(session, request("agent"));
      expect((await after.runs.wait(next.run_id, never)).status).toBe("success");
      expect((await messages()).map((message) => message.getType())).toEqual([...kept, "human", "ai"]);
      expect(after.model.unexpected).toEqual([]);
      expect(after.effects).toEqual([]);
    } finally {
      await after.close();
      await before.discard();
    }
  });
});

describe("a run that broke off in the middle of its turn", () => {
  it("leaves what it has done to the next message, so that nothing is done twice", async () => {
    const storage = createTestStorage();
    const bench = await startStopBench({
      storage,
      script: [
        { toolCalls: [{ name: "add_item", arguments: { title: "first" }, id: "first" }] },
        { text: "many words ".repeat(200), delayMs: 2 },
        { text: "I know of it." },
      ],
    });
    try {
      const { run, reader } = await bench.start("Add a task");
      while (bench.model.requestCount < 2) await settle();
      storage.failures.add("append");
      await reader.until(({ events }) => events.length > 0 && bench.runs.stopOf(run.session_id)?.reason === "error");
      storage.failures.delete("append");
      await reader.over;
      expect(await bench.runs.get(run.run_id)).toMatchObject({ status: "error", error: { error: "storage_full" } });
      expect((await bench.finish("Go on")).status).toBe("success");
      expect((await bench.state()).messages.map((message) => message.getType())).toEqual([
        "human",
        "ai",
        "tool",
        "human",
        "ai",
      ]);
      expect(bench.model.requests.at(-1)?.messages.filter(({ role }) => role === "tool")).toHaveLength(1);
      expect(bench.model.unexpected).toEqual([]);
    } finally {
      await bench.close();
    }
  });
});

describe("a run that was under way at a crash and waits for a place after it", () => {
  it("keeps its turn when it is stopped there", async () => {
    const first = open(folder);
    const stuck: ModelStep = { text: "never said", hold: { after: 0, until: new Promise<never>(() => undefined) } };
    const calls: ModelStep = { toolCalls: [{ name: "add_item", arguments: { title: "first" } }] };
    const handler = ({ messages }: ModelRequest): ModelStep => (messages.at(-1)?.role === "tool" ? stuck : calls);
    const before = await startStopBench({ handler, storage: first });
    const inFront = await before.start("Add a task");
    const session = await createSession(first);
    const run = await before.runs.start(session, request("agent"));
    while (before.model.requestCount < 4) await settle();
    const storage = open(crashCopy(folder, join(folder, "after")));

    const after = await startStopBench({ handler, storage, maxConcurrent: 1 });
    try {
      expect(await after.runs.recover()).toEqual({ resumed: 2 });
      while (after.model.requestCount < 1) await settle();
      expect(await storage.runs.get(run.run_id)).toMatchObject({ status: "running", attempt: 1 });
      expect(await after.runs.cancel(run.run_id, { action: "interrupt", wait: true })).toMatchObject({
        status: "interrupted",
      });
      const tuple = await storage.checkpointer.getTuple({ configurable: { thread_id: run.session_id } });
      const messages = tuple?.checkpoint.channel_values["messages"] as BaseMessage[];
      expect(messages.map((message) => message.getType())).toEqual(["human", "ai", "tool", "ai"]);
      expect(await storage.sessions.get(run.session_id)).toMatchObject({ status: "idle" });
      expect(await storage.runs.get(inFront.run.run_id)).toMatchObject({ status: "running" });
    } finally {
      await after.close();
      await before.close();
    }
  });
});

/** A checkpointer that is lent to a graph whole, but writes nothing of its own before `until`. */
function unwritable(saver: SqliteStorage["checkpointer"], until: Promise<unknown>): BaseCheckpointSaver {
  return new Proxy<BaseCheckpointSaver>(saver, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      const bound: unknown = value.bind(target);
      if (key !== "put" && key !== "putWrites") return bound;
      return async (...args: unknown[]): Promise<unknown> => {
        await until;
        return Reflect.apply(value, target, args);
      };
    },
  });
}

describe("a stop of a run that is not in hand", () => {
  it("is on disk for the next start, which ends the run; one that is over stays as it is", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    const queued = await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
    await gate.arrived;
    await runs.drain(0);
    const order = { action: "interrupt", said: "not needed", wait: false } as const;
    for (const { run_id } of [run, queued]) await runs.cancel(run_id, order);
    expect(storage.rows.run(run.run_id)).toMatchObject({ status: "running", stop_requested: "interrupt" });
    const next = createRuns(storage, serve({ agent: gatedGraph(gate) }, storage.checkpointer));
    expect(await next.recover()).toEqual({ resumed: 0 });
    for (const { run_id } of [run, queued]) {
      const ended = await next.wait(run_id, never);
      expect(ended).toMatchObject({ status: "interrupted", cancel_reason: "not needed" });
      expect(await next.cancel(run_id, { ...order, action: "rollback" })).toEqual(ended);
    }
    expect(storage.rows.run(run.run_id)).toMatchObject({ stop_requested: "interrupt" });
    await next.drain(0);
  });
});

describe("the note of a stop", () => {
  it.each([
    ["walks", "interrupt"],
    ["walks", "rollback"],
    ["waits", "interrupt"],
  ] as const)("is on disk before the end of its run, which is aborted at once (%s, %s)", async (state, action) => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const walking = await runs.start(session, request("agent"));
    const queued = await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
    await gate.arrived;
    const { run_id } = state === "walks" ? walking : queued;
    const ends: unknown[] = [];
    storage.beforeWrite = async (operation) => {
      if (operation === "finish") ends.push(storage.rows.run(run_id)?.stop_requested);
      // A database far away: other things happen while it takes the note.
      if (operation === "requestStop") for (let turn = 0; turn < 20; turn++) await settle();
    };
    const cancelled = runs.cancel(run_id, { action, wait: true });
    expect(runs.stopOf(session.session_id)?.state).toBe(state === "walks" ? "stop_requested" : "running");
    await cancelled;
    expect(ends).toEqual([action]);
  });

  it("that never comes does not keep the run going, whose end needs no note", async () => {
    const gate = createGate();
    const storage = createTestStorage();
    storage.runs.requestStop = () => new Promise(() => undefined);
    const { runs, session } = await createHarness({ agent: gatedGraph(gate) }, storage);
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    expect((await runs.cancel(run.run_id, { action: "interrupt", wait: true }))?.status).toBe("interrupted");
  });

  it("that cannot be written is reported to a caller that does not wait for the end, and the run stops all the same", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    storage.failures.add("requestStop");
    const refused = runs.cancel(run.run_id, { action: "interrupt", wait: false });
    await expect(refused).rejects.toMatchObject({ code: "storage_full" });
    expect((await runs.wait(run.run_id, never)).status).toBe("interrupted");
  });
});
