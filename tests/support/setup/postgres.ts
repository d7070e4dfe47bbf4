import type { TestProject } from "vitest/node";
import { startPostgres } from "../processes/postgres.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The address of a PostgreSQL in which each server of a test gets a database; absent where they have files. */
    postgres?: string;
  }
}

/**
 * With `MILLRACE_TEST_STORAGE=postgres` the servers of tests keep everything in PostgreSQL, which is started here; with `servers`
 * there are two of each, too (see `test-server.ts`).
 */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const wanted = process.env["MILLRACE_TEST_STORAGE"];
  if (wanted !== "postgres" && wanted !== "servers") return undefined;
  const server = await startPostgres();
  if (server === undefined) throw new Error(`MILLRACE_TEST_STORAGE=${wanted}, and there is no PostgreSQL.`);
  project.provide("postgres", await server.create());
  return () => server.stop();
}
