import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import type { Config } from "@millrace/engine/config/config";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { expect } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { type TestPostgres, withClient } from "../support/processes/postgres.ts";

/** A PostgreSQL with a database, and the servers on it; `close` stops and removes them all. */
export interface Servers {
  url: string;
  /** Starts another server. */
  start(changes?: Partial<Config>): Promise<TestServer>;
  /** The storage of another server, of a version of the code if it is given, without the rest of that server. */
  open(codeVersion?: string): Promise<OpenedStorage>;
  query(sql: string): Promise<unknown[]>;
  /**
   * The result of `send`, none of whose statements writes to a table before so many of them wait for a lock: whatever concurrent
   * requests read before they write, all of them have read it by then.
   */
  meetAt<Result>(table: string, waiting: number, send: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/**
 * A new database, and servers on it. `postgres`: the one of the test file, which stops it; `lease`: in seconds, long by
 * default, because all servers share the process of the test: a busy process must not let a lease expire.
 */
export async function createServers(postgres: TestPostgres | undefined, lease = 60): Promise<Servers> {
  const url = (await postgres?.create()) ?? "";
  const opened: (() => Promise<unknown>)[] = [];
  return {
    url,
    async start(changes = {}) {
      const server = await startTestServer({ database: url, leaseSeconds: lease, ...changes });
      opened.push(() => server.remove());
      return server;
    },
    async open(codeVersion) {
      const storage = await createPostgresStorage(url, { leaseSeconds: lease, codeVersion });
      opened.push(() => storage.close());
      return storage;
    },
    query: (sql) => withClient(url, async (client) => (await client.query(sql)).rows),
    meetAt: (table, waiting, send) =>
      withClient(url, async (client) => {
        await client.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
        const sent = send();
        const waits = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        // A transaction would see the same activity each time.
        await withClient(url, async (other) => {
          await expect.poll(async () => (await other.query(waits)).rowCount).toBe(waiting);
        });
        await client.query("COMMIT");
        return await sent;
      }),
    async close() {
      for (const close of opened.splice(0)) await close();
    },
  };
}
