import { zeroCounts } from "@millrace/engine/runs/run-stats";
import { runDefaults, type RunStarter } from "@millrace/engine/runs/options";
import { agentRuns } from "../../../src/agent-runs/agent-run.ts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { ActiveRun } from "@millrace/engine/runs/active-run";
import { systemAssistant } from "@millrace/engine/graphs/assistants";
import { workflow } from "../../../src/graph/workflow.ts";
import { draftRun } from "@millrace/engine/runs/admission/draft";
import { settleWithin, stopPatience } from "@millrace/engine/runs/attempt/end";
import { runAttempt } from "@millrace/engine/runs/attempt/run-attempt";
import type { Session } from "@millrace/engine/storage/records";
import { createTestStorage } from "../../support/test-storage.ts";
import { createHarness, createGate, createSession, gatedGraph, never, request, serve, settle } from "../fixtures.ts";

describe("work that a stop ends", () => {
  const stuck = new Promise<string>(() => undefined);

  it("is waited for until it is stopped, and given up after the patience when it does not end", async () => {
    const stop = new AbortController();
    expect(await settleWithin(Promise.resolve("done"), stop.signal, 0)).toBe("done");
    const waiting = settleWithin(stuck, stop.signal, 0);
    stop.abort();
    expect(await waiting).toBeUndefined();
    expect(await settleWithin(stuck, stop.signal, 0)).toBeUndefined();
    expect(await settleWithin(Promise.resolve("just in time"), stop.signal, 60_000)).toBe("just in time");
  });

  it("has five seconds from the stop on (STOP-05)", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let isGivenUp = false;
    void settleWithin(stuck, AbortSignal.abort(), stopPatience).then(() => (isGivenUp = true));
    await vi.advanceTimersByTimeAsync(4999);
    expect(isGivenUp).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isGivenUp).toBe(true);
  });

  it("keeps its own failure", async () => {
    await expect(settleWithin(Promise.reject(new Error("broken")), AbortSignal.abort(), 60_000)).rejects.toThrow(
      "broken",
    );
  });
});

const noOthers: RunStarter = {
  start: () => Promise.reject(new Error("No other run is begun.")),
  stop: () => Promise.reject(new Error("No other run is stopped.")),
  companionOf: () => undefined,
};

/** A run that is claimed, so that it can be walked here; `isStopped`: before its first step. */
async function claimed(
  graphs: Record<string, unknown>,
  { text = "hello", isStopped = false, stopPatience = 1, storage = createTestStorage() } = {},
  given?: Session,
) {
  const session = given ?? (await createSession(storage));
  const served = serve(graphs, storage.checkpointer);
  const assistant = systemAssistant("agent", new Date().toISOString());
  const input = { messages: [{ role: "user", content: text }] };
  const draft = draftRun(session, request("agent", { stream_mode: ["custom"], input }), assistant, served);
  await storage.runs.admit(draft);
  const run = await storage.runs.claim(draft.session_id);
  if (run === undefined) throw new Error("there is nothing to claim");
  const active = new ActiveRun(run, storage);
  const warned: unknown[] = [];
  const logger = createLogger("warn", { write: (line: string) => void warned.push(JSON.parse(line)) });
  const extension = agentRuns({
    storage,
    logger,
    // A graph of its own asks for no other services.
    services: { tasks: storage.tasks, ledger: storage.ledger, defaultModel: "offline" } as never,
  });
  active.companion = extension.createCompanion(active, noOthers);
  active.isExecuting = true;
  if (isStopped) active.stop.request("user_requested");
  const walking = runAttempt(active, {
    storage,
    graphs: served,
    logger,
    extension,
    ...runDefaults,
    retryDelay: 1,
    stopping: never,
    lastValues: new WeakMap(),
    counts: zeroCounts(),
    stopPatience,
  });
  return { active, walking, session, storage, warned };
}

describe("a stopped run", () => {
  it("ends although a step ignores the signal, and what that step does later changes nothing", async () => {
    const gate = createGate();
    const deaf = { ...gate, pass: () => gate.pass() };
    const { active, walking, session, storage } = await claimed({ agent: gatedGraph(deaf) });
    const events = Array.fromAsync(active.log.follow(-1, never));
    await gate.arrived;
    active.stop.request("user_requested");
    await walking;
    expect((await active.over).status).toBe("interrupted");
    expect((await events).flat().flatMap((event) => (event.event === "custom" ? [event.data] : []))).toMatchObject([
      { type: "stop_requested", stop_reason: "user_requested" },
      { type: "stop_completed", partial: null },
    ]);
    const before = await storage.checkpointer.getTuple({ configurable: { thread_id: session.session_id } });
    gate.open();
    await new Promise(setImmediate);
    expect(await storage.checkpointer.getTuple({ configurable: { thread_id: session.session_id } })).toEqual(before);
  });

  it("whose turn takes too long to be kept writes nothing after the next run has begun", async () => {
    const gate = createGate();
    const waiting = [gate.pass];
    const storage = createTestStorage();
    storage.beforePut = () => waiting.pop()?.();
    const graphs = { agent: workflow.compile() };
    const first = await claimed(graphs, { text: "first", isStopped: true, storage });
    await first.walking;
    expect(first.warned).toMatchObject([{ msg: "stop_forced", run_id: first.active.run.run_id }]);
    const { session } = first;
    const next = { text: "second", isStopped: true, stopPatience: 60_000, storage };
    const second = await claimed(graphs, next, session);
    await second.walking;
    const lastId = await storage.events.last(first.active.run.run_id);
    gate.open();
    for (let turn = 0; turn < 20; turn += 1) await settle();
    const newest = await storage.checkpointer.getTuple({ configurable: { thread_id: session.session_id } });
    expect(JSON.stringify(newest?.checkpoint.channel_values["messages"])).toContain("second");
    expect(await storage.events.last(first.active.run.run_id)).toBe(lastId);
  });

  it("ends although the store never finishes a write", async () => {
    const reached = Promise.withResolvers<void>();
    const storage = createTestStorage();
    storage.beforePut = () => {
      reached.resolve();
      return new Promise(() => undefined);
    };
    const { active, walking } = await claimed({ agent: gatedGraph(createGate()) }, { storage });
    await reached.promise;
    active.stop.request("user_requested");
    await walking;
    expect((await active.over).status).toBe("interrupted");
  });

  it("that has not begun leaves its thread as the run before it does, which ends at the same moment", async () => {
    const gate = createGate();
    const { storage, runs, session } = await createHarness({ agent: gatedGraph(gate) });
    const working = await runs.start(session, request("agent"));
    const queued = await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
    await gate.arrived;
    const [reached, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    storage.beforeWrite = async (operation) => {
      if (operation !== "finish") return;
      storage.beforeWrite = undefined;
      reached.resolve();
      await held.promise;
    };
    const cancelled = runs.cancel(queued.run_id, { action: "interrupt", wait: true });
    await reached.promise;
    gate.open();
    expect((await runs.wait(working.run_id, never)).status).toBe("success");
    held.resolve();
    expect((await cancelled)?.status).toBe("interrupted");
    expect(storage.rows.session(session.session_id)?.status).toBe("idle");
  });
});
