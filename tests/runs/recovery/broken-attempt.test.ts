import { expect, it } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import type { RunsOptions } from "@millrace/engine/runs/options";
import { Runs } from "@millrace/engine/runs/runs";
import { createSession, never, plainGraph, request, serve } from "../fixtures.ts";
import { createTestStorage } from "../../support/test-storage.ts";

const broken = (): never => {
  throw new RangeError("a defect");
};

/** Runs of which each attempt meets a defect of the server. */
async function createBroken(defect: Partial<RunsOptions>) {
  const storage = createTestStorage();
  const graphs = serve({ agent: plainGraph() }, storage.checkpointer);
  const logger = createLogger("silent");
  const runs = new Runs({ storage, graphs, logger, maxConcurrent: 8, retryDelay: 1, ...defect });
  return { storage, runs, session: await createSession(storage) };
}

const companion = {
  onAttemptStart: broken,
  provideConfigurable: async () => ({}),
  onGraphStart: () => undefined,
  onStopRequested: () => undefined,
  saveStoppedTurn: async () => ({ values: undefined, emit: () => undefined }),
  onEnd: () => undefined,
  live: undefined,
  onEndStored: () => undefined,
};
const extension = {
  recursionLimit: 25,
  createCompanion: () => companion,
  saveUnfinishedTurn: async () => undefined,
  forget: () => undefined,
};

it.each([
  ["before it streams", { traceRun: broken }],
  ["when its companion begins", { extension }],
])("a run whose attempt throws %s ends with that error, and its session is free", async (_when, defect) => {
  const { storage, runs, session } = await createBroken(defect);
  const run = await runs.start(session, request("agent"));
  expect((await runs.wait(run.run_id, never)).status).toBe("error");
  const error = { error: "RangeError", message: "a defect" };
  expect(storage.rows.run(run.run_id)).toMatchObject({ status: "error", error, attempt: 1 });
  // The next one begins, since the first one is not in hand any more.
  const next = await runs.start(session, request("agent"));
  expect((await runs.wait(next.run_id, never)).status).toBe("error");
  expect(storage.rows.session(session.session_id)?.status).toBe("error");
  await runs.drain(0);
});
