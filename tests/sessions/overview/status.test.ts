import { expect, test } from "vitest";
import { Stop, type StopState } from "@millrace/engine/runs/active-run";
import { builtInProfiles } from "@millrace/models/registry/profiles";
import { readActivity } from "../../../src/sessions/overview/status.ts";
import type { Session } from "@millrace/engine/storage/records";
import { sessionRecord } from "../../contract/records.ts";
import { createTestStorage } from "../../support/test-storage.ts";

/** A session whose run has come so far on its way to a stop. */
async function activityAt(status: Session["status"], moves: StopState[]) {
  const storage = createTestStorage();
  const session = await storage.sessions.create(sessionRecord("s1", { status }));
  const stop = new Stop();
  for (const state of moves) {
    if (state === "stop_requested") stop.request("user_requested");
    else stop.transition(state);
  }
  const stopStateOf = async (id: string): Promise<StopState | undefined> => (id === "s1" ? stop.state : undefined);
  const liveOf = () => Promise.resolve(undefined);
  const runs = { list: storage.runs.list.bind(storage.runs), stopStateOf, liveOf };
  const usual = { model: "offline", contextLimit: undefined, profile: builtInProfiles };
  return readActivity({ storage, runs }, session, usual, (values) => Promise.resolve(values));
}

test.each<[Session["status"], StopState[], string, string]>([
  ["idle", [], "idle", "can_send"],
  ["error", [], "idle", "can_send"],
  ["interrupted", [], "idle", "can_send"],
  ["busy", [], "idle", "is_loading can_stop"],
  ["busy", ["running"], "running", "is_loading is_generating can_stop"],
  ["busy", ["stop_requested"], "stop_requested", "is_loading is_generating is_stop_loading"],
  ["busy", ["running", "stop_requested"], "stop_requested", "is_loading is_generating is_stop_loading"],
  ["busy", ["running", "stop_requested", "stopping"], "stopping", "is_loading is_generating is_stop_loading"],
  // The end is written, but not yet seen in the session.
  ["busy", ["running", "stop_requested", "stopping", "stopped"], "stopped", "is_loading"],
  // The end is seen in the session, and the run not yet let go of.
  ["idle", ["running", "stop_requested", "stopping", "stopped"], "idle", "can_send"],
])("a session that is %s with a run at %j: %s, %s", async (status, moves, state, flags) => {
  const { stop_state, ...activity } = await activityAt(status, moves);
  const set = Object.entries(activity).flatMap(([name, value]) => (value === true ? [name] : []));
  // What works on a thread locks it (STATE-11).
  expect(set.includes("workflow_locked")).toBe(set.includes("is_loading"));
  expect([stop_state, set.filter((name) => name !== "workflow_locked")]).toEqual([state, flags.split(" ")]);
});
