import { expect, it } from "vitest";
import { Graphs } from "@millrace/engine/graphs/load";
import { createLogger } from "@millrace/engine/logger";
import { Dispatch } from "@millrace/engine/runs/dispatch";
import { runDefaults } from "@millrace/engine/runs/options";
import { zeroCounts } from "@millrace/engine/runs/run-stats";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import type { Run } from "@millrace/engine/storage/records";
import { runRecord } from "../../contract/records.ts";

it("takes up what another server has left, also while it looks for the next run of that thread", async () => {
  const storage = createSqliteStorage(":memory:");
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<Run | undefined>()];
  const resumed: string[] = [];
  const runs = {
    ...storage.runs,
    claim: () => {
      asked.resolve();
      return answer.promise;
    },
    reclaim: async (runId: string) => void resumed.push(runId),
  };
  const deps = {
    ...runDefaults,
    storage: { ...storage, runs },
    graphs: new Graphs(new Map(), []),
    logger: createLogger("silent"),
    stopping: new AbortController().signal,
    counts: zeroCounts(),
    lastValues: new WeakMap<Run, Record<string, unknown>>(),
  };
  const unused = () => Promise.reject(new Error("Nothing is begun here."));
  const dispatch = new Dispatch({
    deps,
    starter: { start: unused, stop: unused, companionOf: () => undefined },
    maxConcurrent: 1,
  });
  try {
    dispatch.schedule(runRecord("behind", "s1"));
    await asked.promise;
    dispatch.schedule({ ...runRecord("left", "s1"), status: "running" });
    answer.resolve(undefined);
    await expect.poll(() => resumed).toEqual(["left"]);
  } finally {
    await dispatch.close();
    await storage.close();
  }
});
