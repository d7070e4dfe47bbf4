import { afterAll, describe, expect, it } from "vitest";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { describeStorage } from "../../contract/storage.ts";
import { startPooler } from "../../support/processes/pooler.ts";
import { startPostgres, type TestPostgres, withClient } from "../../support/processes/postgres.ts";
import { startTestServer } from "../../support/test-server.ts";

// If all tests of a file are skipped, `afterAll` is not called: without a pooler no server is started.
let server: TestPostgres | undefined;
const pooler = await startPooler(async () => {
  server = await startPostgres();
  return await server?.create();
});
afterAll(async () => {
  await pooler?.stop();
  await server?.stop();
});

async function newDatabase(): Promise<string> {
  return pooler?.of((await server?.create()) ?? "") ?? "";
}

const addresses = new Map<string, string>();

describe.skipIf(pooler === undefined)("PostgreSQL behind PgBouncer in transaction mode", () => {
  describeStorage("the storage behind PgBouncer", async (place) => {
    const url = addresses.get(place) ?? (await newDatabase());
    addresses.set(place, url);
    return await createPostgresStorage(url);
  });

  it("keeps neither prepared statements nor settings in a connection", async () => {
    const database = await newDatabase();
    const served = await startTestServer({ database });
    try {
      const { thread_id } = await served.client.threads.create();
      // More often than a statement is sent before it is prepared without a pooler.
      for (let times = 0; times < 8; times += 1) {
        await served.client.runs.wait(thread_id, "counter", { input: { value: 1 } });
      }
      const left = await withClient(database, async (client) => {
        const { rows } = await client.query(
          "SELECT current_setting('synchronous_commit') AS commits, (SELECT count(*)::int FROM pg_prepared_statements) AS statements",
        );
        return rows;
      });
      expect(left).toEqual([{ commits: "on", statements: 0 }]);
    } finally {
      await served.remove();
    }
  });
});
