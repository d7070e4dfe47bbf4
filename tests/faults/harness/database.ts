import { createHash } from "node:crypto";
import { serialize } from "node:v8";
import Database from "better-sqlite3";
import { z } from "zod";
import { withClient } from "../../support/processes/postgres.ts";

const Count = z.object({ count: z.number() });
const Check = z.array(z.object({ integrity_check: z.string() }));

const Tools = z.array(z.object({ tool: z.string() }));

const finished = `SELECT tool FROM tool_calls
  WHERE state = 'finished' AND session = (SELECT id FROM sessions WHERE session_id = $1)`;
const unfinishedRuns = "SELECT count(*) AS count FROM runs WHERE status IN ('pending', 'running')";
const ambiguousCalls =
  "SELECT count(*) AS count FROM tool_calls WHERE state <> 'finished' AND effect IN ('unsafe', 'reconcilable')";
const resumedRuns = "SELECT count(*) AS count FROM runs WHERE attempt > 1";

/** A database that no server holds, as far as judges read it. */
export interface StoppedDatabase {
  /** The tools whose calls in the session have a stored end. */
  finishedTools(sessionId: string): Promise<string[]>;
  verdict(): Promise<DatabaseVerdict>;
}

/** That of a file. */
export function stoppedFile(file: string): StoppedDatabase {
  return {
    finishedTools: async (sessionId) => {
      const database = new Database(file, { readonly: true });
      try {
        return Tools.parse(database.prepare(finished.replace("$1", "?")).all(sessionId)).map(({ tool }) => tool);
      } finally {
        database.close();
      }
    },
    verdict: async () => readDatabase(file),
  };
}

/** That of an address; whether its pages are sound is PostgreSQL's to say. */
export function stoppedPostgres(url: string): StoppedDatabase {
  return {
    finishedTools: (sessionId) =>
      withClient(url, async (client) =>
        Tools.parse((await client.query(finished, [sessionId])).rows).map(({ tool }) => tool),
      ),
    verdict: () =>
      withClient(url, async (client) => {
        const count = async (sql: string): Promise<number> => Number((await client.query(sql)).rows[0].count);
        return {
          unfinishedRuns: await count(unfinishedRuns),
          ambiguousCalls: await count(ambiguousCalls),
          resumedRuns: await count(resumedRuns),
          isSound: true,
        };
      }),
  };
}

const Names = z.array(z.string());

/** Every row of every table as one checksum, for comparing two moments; a server may hold the database. */
export function contentOf(file: string): string {
  const database = new Database(file, { readonly: true });
  try {
    const sql = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
    const sum = createHash("sha256");
    for (const name of Names.parse(database.prepare(sql).pluck().all())) {
      sum.update(name);
      for (const row of database.prepare(`SELECT * FROM "${name}"`).raw().iterate()) sum.update(serialize(row));
    }
    return sum.digest("hex");
  } finally {
    database.close();
  }
}

/** What a stopped server has left in its database. */
export interface DatabaseVerdict {
  unfinishedRuns: number;
  /** Calls of unsafe tools that were begun and have no known end. */
  ambiguousCalls: number;
  /** Runs that a later start has taken up again. */
  resumedRuns: number;
  isSound: boolean;
}

/** Reads a database that no server holds. */
export function readDatabase(file: string): DatabaseVerdict {
  const database = new Database(file, { readonly: true });
  try {
    const count = (sql: string): number => Count.parse(database.prepare(sql).get()).count;
    const check = Check.parse(database.pragma("integrity_check"));
    return {
      unfinishedRuns: count(unfinishedRuns),
      ambiguousCalls: count(ambiguousCalls),
      resumedRuns: count(resumedRuns),
      isSound: check.every((row) => row.integrity_check === "ok"),
    };
  } finally {
    database.close();
  }
}
