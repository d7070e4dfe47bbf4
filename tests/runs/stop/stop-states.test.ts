import { describe, expect, it } from "vitest";
import type { StopReason } from "@millrace/engine/run-events";
import { Stop, stopTransitions, type StopState, stopStates } from "@millrace/engine/runs/active-run";
import { createHarness, createGate, createSession, gatedGraph, plainGraph, request } from "../fixtures.ts";

/** A stop that has come to a state on the shortest way. */
function at(state: StopState): Stop {
  const stop = new Stop();
  if (state === "idle") return stop;
  stop.transition("running");
  if (state === "running") return stop;
  stop.request("user_requested");
  if (state !== "stop_requested") stop.transition("stopping");
  if (state === "stopped") stop.transition("stopped");
  return stop;
}

describe("the states of a stop", () => {
  const moves = stopStates.flatMap((from) => stopStates.map((to) => [from, to] as const));
  it.each(moves)("from %s to %s are as the table says", (from, to) => {
    const stop = at(from);
    const isAllowed = ["idle running", "idle stop_requested", "running idle", "running stop_requested"]
      .concat("stop_requested stopping", "stopping stopped")
      .includes(`${from} ${to}`);
    expect(stopTransitions[from].includes(to)).toBe(isAllowed);
    if (isAllowed) {
      stop.transition(to);
      expect(stop.state).toBe(to);
    } else {
      expect(() => stop.transition(to)).toThrow(`from ${from} to ${to}`);
      expect(stop.state).toBe(from);
    }
  });

  it.each([
    ["idle", "idle"],
    ["running", "idle"],
    ["stop_requested", "stopped"],
    ["stopping", "stopped"],
    ["stopped", "stopped"],
  ] as const)("from %s come to rest as %s", async (from, rest) => {
    const stop = at(from);
    const waiting = stop.wait(60_000);
    stop.rest();
    expect(stop.state).toBe(rest);
    expect(await waiting).toBe(rest === "stopped");
  });
});

describe("a request to stop", () => {
  it.each([
    ["user_requested", "cancelled"],
    ["session_switch", "cancelled"],
    ["timeout", "timeout"],
    ["app_shutdown", "server"],
    ["error", "storage_io"],
  ] satisfies [StopReason, string][])("says why in the signal: %s", (reason, code) => {
    const stop = at("running");
    expect([stop.reason, stop.signal.aborted]).toEqual([undefined, false]);
    stop.request(reason);
    expect([stop.reason, stop.state, stop.signal.aborted]).toEqual([reason, "stop_requested", true]);
    expect(stop.signal.reason).toMatchObject({ code });
  });

  it("counts once, whenever it comes", () => {
    const cause = new Error("the disk is full");
    const stop = at("idle");
    stop.request("error", cause);
    stop.request("user_requested");
    expect([stop.reason, stop.state]).toEqual(["error", "stop_requested"]);
    expect(stop.signal.reason).toBe(cause);
    stop.rest();
    stop.request("timeout");
    expect([stop.reason, stop.state]).toEqual(["error", "stopped"]);
  });

  it("is waited for no longer than is said", async () => {
    const stop = at("stop_requested");
    expect(await stop.wait(0)).toBe(false);
    const waiting = stop.wait(60_000);
    stop.rest();
    expect(await waiting).toBe(true);
    expect(await stop.wait(0)).toBe(true);
  });
});

describe("the stop of a session", () => {
  it("is found while a run of it is in hand, goes through its states, and is another one for the next run", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate), plain: plainGraph() });
    expect(runs.stopOf(session.session_id)).toBeUndefined();
    const run = await runs.start(session, request("agent"));
    await runs.start(session, request("plain", { multitask_strategy: "enqueue" }));
    const elsewhere = await createSession(storage);
    await runs.start(elsewhere, request("plain", { after_seconds: 3600 }));
    await gate.arrived;
    const stop = runs.stopOf(session.session_id);
    expect(stop?.state).toBe("running");
    expect(runs.stopOf(elsewhere.session_id)?.state).toBe("idle");
    const answered = runs.cancel(run.run_id, { action: "interrupt", wait: false });
    expect([stop?.state, stop?.reason]).toEqual(["stop_requested", "user_requested"]);
    await answered;
    expect(await stop?.wait(60_000)).toBe(true);
    expect(runs.stopOf(session.session_id)).not.toBe(stop);
    await runs.drain(0);
  });

  it("says session_switch where the session is going, and app_shutdown where the server is", async () => {
    const gate = createGate();
    const { runs, session } = await createHarness({ agent: gatedGraph(gate) });
    await runs.start(session, request("agent"));
    await gate.arrived;
    const going = runs.stopOf(session.session_id);
    await runs.cancelSession(session.session_id);
    expect([going?.reason, going?.state]).toEqual(["session_switch", "stopped"]);
    await runs.start(session, request("agent"));
    while (runs.stopOf(session.session_id)?.state !== "running") await new Promise(setImmediate);
    const left = runs.stopOf(session.session_id);
    await runs.drain(0);
    expect([left?.reason, left?.state]).toEqual(["app_shutdown", "stopped"]);
  });

  it("is idle again after a run that ended by itself", async () => {
    const gate = createGate();
    const { runs, session } = await createHarness({ agent: gatedGraph(gate) });
    await runs.start(session, request("agent"));
    await gate.arrived;
    const stop = runs.stopOf(session.session_id);
    const waiting = stop?.wait(60_000);
    gate.open();
    expect(await waiting).toBe(false);
    expect([stop?.state, stop?.reason]).toEqual(["idle", undefined]);
  });
});
