import { createHash } from "node:crypto";
import { serialize } from "node:v8";
import Database from "better-sqlite3";
import { z } from "zod";

const Count = z.object({ count: z.number() });
const Check = z.array(z.object({ integrity_check: z.string() }));

const Tools = z.array(z.object({ tool: z.string() }));

/** The tools whose calls in the session have a stored end, in a database that no server holds. */
export function finishedTools(file: string, sessionId: string): string[] {
  const database = new Database(file, { readonly: true });
  try {
    const sql = `SELECT tool FROM tool_calls WHERE state = 'finished'
      AND session = (SELECT id FROM sessions WHERE session_id = ?)`;
    return Tools.parse(database.prepare(sql).all(sessionId)).map(({ tool }) => tool);
  } finally {
    database.close();
  }
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
      unfinishedRuns: count("SELECT count(*) AS count FROM runs WHERE status IN ('pending', 'running')"),
      ambiguousCalls: count(
        "SELECT count(*) AS count FROM tool_calls WHERE state <> 'finished' AND effect IN ('unsafe', 'reconcilable')",
      ),
      resumedRuns: count("SELECT count(*) AS count FROM runs WHERE attempt > 1"),
      isSound: check.every((row) => row.integrity_check === "ok"),
    };
  } finally {
    database.close();
  }
}
