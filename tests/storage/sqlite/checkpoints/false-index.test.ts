import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import {
  claimRun,
  findRun,
  insertRun,
  listLeftRollbacks,
  listLeftTemporary,
  listUnfinished,
} from "@millrace/engine/storage/sqlite/records/run-statements";
import { runRecord } from "../../../contract/records.ts";

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-index-"));
  file = join(folder, "millrace.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A database with three ended runs, in which the page of one index is replaced by that of another. */
function openWithPage(from: string, to: string): ReturnType<typeof openDatabase> {
  const made = openDatabase(file);
  migrate(made, migrations);
  made.raw
    .prepare(
      `INSERT INTO sessions (session_id, created_at, updated_at, status, metadata, config, interrupts)
       VALUES ('s', '2026-01-01', '2026-01-02', 'idle', '{}', '{}', '{}')`,
    )
    .run();
  for (const id of ["a", "b", "c"]) insertRun(made, runRecord(id, "s", { status: "success" }));
  const page = (name: string): number =>
    Number(made.raw.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").pluck().get(name));
  const [first, second] = [page(from) - 1, page(to) - 1];
  const size = Number(made.raw.pragma("page_size", { simple: true }));
  made.raw.pragma("wal_checkpoint(TRUNCATE)");
  made.close();
  const bytes = readFileSync(file);
  bytes.copyWithin(second * size, first * size, (first + 1) * size);
  writeFileSync(file, bytes);
  return openDatabase(file);
}

it.each([
  ["sessions_created", "runs_rolled_back"],
  ["sessions_created", "runs_temporary"],
  ["runs_of_session", "runs_unfinished"],
  ["sessions_created", "runs_unfinished"],
])("the page of %s in place of that of %s changes no ended run", (from, to) => {
  const database = openWithPage(from, to);
  try {
    const found = database.raw.pragma("integrity_check", { simple: true });
    expect(listLeftRollbacks(database)).toEqual([]);
    expect(listLeftTemporary(database, "2030-01-01")).toEqual([]);
    expect(listUnfinished(database)).toEqual([]);
    expect(claimRun(database, "s")).toBeUndefined();
    for (const id of ["a", "b", "c"]) expect(findRun(database, id)?.status, String(found)).toBe("success");
  } finally {
    database.close();
  }
});
