import { afterAll, afterEach, beforeEach, describe } from "vitest";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import type { Storage } from "@millrace/engine/storage/storage";
import { describeApprovals } from "../../contract/approvals.ts";
import { describeAssistants } from "../../contract/assistants.ts";
import { describeCrons } from "../../contract/crons.ts";
import { describeItems } from "../../contract/items.ts";
import { describeItemVectors } from "../../contract/item-vectors.ts";
import { describeNamespaces } from "../../contract/namespaces.ts";
import { describeOverview } from "../../contract/overview.ts";
import { sessionRecord, type StorageFixture } from "../../contract/records.ts";
import { describeLedger } from "../../contract/runs/ledger.ts";
import { describeOperations } from "../../contract/runs/operations.ts";
import { describeRunStops } from "../../contract/runs/run-stops.ts";
import { describeWebhooks } from "../../contract/runs/webhooks.ts";
import { describeSessionTtls } from "../../contract/session-ttls.ts";
import { describeTasks } from "../../contract/tasks.ts";
import { describeTextIndex } from "../../contract/text-index.ts";
import { startPostgres } from "./server.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

describe.skipIf(server === undefined)("the PostgreSQL storage", () => {
  let url: string;
  let current: Storage;
  const open = async (): Promise<Storage> => (await createPostgresStorage(url)) as Storage; // its parts come one by one
  beforeEach(async () => {
    url = (await server?.create()) ?? "";
    current = await open();
  });
  afterEach(() => current.close());
  const fixture: StorageFixture = {
    get storage() {
      return current;
    },
    async reopen() {
      await current.close();
      current = await open();
      return current;
    },
  };

  describeRunStops(fixture);
  describeApprovals(fixture);
  describeTasks("tasks", () => current.tasks);
  describeLedger("ledger", async (sessionIds) => {
    for (const id of sessionIds) await current.sessions.create(sessionRecord(id));
    return current.byHand.ledger;
  });
  describeNamespaces(fixture);
  describeCrons(fixture);
  describeSessionTtls(fixture);
  describeWebhooks(fixture);
  describeAssistants(fixture);
  describeItems(fixture);
  describeItemVectors(fixture);
  describeTextIndex(fixture);
  describeOverview(fixture);
  describeOperations("operations", async (sessionIds) => {
    for (const id of sessionIds) await current.sessions.create(sessionRecord(id));
    return current.byHand.operations;
  });
});
