import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe } from "vitest";
import type { Storage } from "@millrace/engine/storage/storage";
import { describeApprovals } from "./approvals.ts";
import { describeAssistants } from "./assistants.ts";
import { describeCheckpoints } from "./checkpoints.ts";
import { describeCrons } from "./crons.ts";
import { describeEvents } from "./runs/events.ts";
import { describeItems } from "./items.ts";
import { describeItemVectors } from "./item-vectors.ts";
import { describeLedger } from "./runs/ledger.ts";
import { describeModelRequests } from "./runs/model-requests.ts";
import { describeNamespaces } from "./namespaces.ts";
import { describeOperations } from "./runs/operations.ts";
import { describeOverview } from "./overview.ts";
import { sessionRecord, type StorageFixture } from "./records.ts";
import { describeRestart } from "./runs/restart.ts";
import { describeRunSafety } from "./runs/run-safety.ts";
import { describeRunStops } from "./runs/run-stops.ts";
import { describeRuns } from "./runs/runs.ts";
import { describeSessionTtls } from "./session-ttls.ts";
import { describeSessions } from "./sessions.ts";
import { describeTasks } from "./tasks.ts";
import { describeTextIndex } from "./text-index.ts";
import { describeUsage } from "./usage.ts";
import { describeWebhooks } from "./runs/webhooks.ts";

/** Opens the storage at a path; reopening the same path must find all data. */
export type OpenStorage = (place: string) => Promise<Storage>;

/** The rules for every `Storage`. */
export function describeStorage(name: string, open: OpenStorage): void {
  describe(name, () => {
    let folder: string;
    let current: Storage;
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), "millrace-storage-"));
      current = await open(join(folder, "storage"));
    });
    afterEach(async () => {
      await current.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const fixture: StorageFixture = {
      get storage() {
        return current;
      },
      async reopen() {
        await current.close();
        current = await open(join(folder, "storage"));
        return current;
      },
    };

    describeSessions(fixture);
    describeRuns(fixture);
    describeRunSafety(fixture);
    describeRunStops(fixture);
    describeEvents(fixture);
    describeCheckpoints(fixture);
    describeApprovals(fixture);
    describeRestart(fixture);
    describeTasks("tasks", () => current.tasks);
    describeLedger("ledger", async (sessionIds) => {
      for (const id of sessionIds) await current.sessions.create(sessionRecord(id));
      return current.manualCalls.ledger;
    });
    describeNamespaces(fixture);
    describeItems(fixture);
    describeItemVectors(fixture);
    describeTextIndex(fixture);
    describeUsage(fixture);
    describeCrons(fixture);
    describeSessionTtls(fixture);
    describeAssistants(fixture);
    describeOverview(fixture);
    describeWebhooks(fixture);
    describeModelRequests(fixture);
    describeOperations("operations", async (sessionIds) => {
      for (const id of sessionIds) await current.sessions.create(sessionRecord(id));
      return current.manualCalls.operations;
    });
  });
}
