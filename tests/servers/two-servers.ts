import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import type { Config } from "@millrace/engine/config/config";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { type TestPostgres, withClient } from "../support/processes/postgres.ts";

/** A PostgreSQL, and what works on one database of it; all of it goes with `close`. */
export interface Servers {
  url: string;
  /** One server more. */
  start(changes?: Partial<Config>): Promise<TestServer>;
  /** The storage as one server more has it, without the rest of that. */
  open(): Promise<OpenedStorage>;
  query(sql: string): Promise<unknown[]>;
  close(): Promise<void>;
}

/**
 * A new database, and servers on it. `postgres`: that of the file of tests, which stops it; `lease`: how long a server may be
 * silent, in seconds. All of them share the process of the test: none is to be taken for gone because that is busy.
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
    async open() {
      const storage = await createPostgresStorage(url, { leaseSeconds: lease });
      opened.push(() => storage.close());
      return storage;
    },
    query: (sql) => withClient(url, async (client) => (await client.query(sql)).rows),
    async close() {
      for (const close of opened.splice(0)) await close();
    },
  };
}
