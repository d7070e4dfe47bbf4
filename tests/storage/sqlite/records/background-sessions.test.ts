import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import { searchCondition, searchOrder } from "@millrace/engine/storage/sqlite/records/sessions";

it("the agents of a session are found by an index, in order, also beside a damaged row", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-background-"));
  const database = openDatabase(join(folder, "millrace.db"));
  try {
    migrate(
      database,
      migrations.filter(({ id }) => id < 10),
    );
    const insert = database.raw.prepare(
      `INSERT INTO sessions (session_id, created_at, updated_at, status, metadata, config, interrupts)
       VALUES (?, '2026-01-01', '2026-01-02', 'idle', ?, '{}', '{}')`,
    );
    insert.run("damaged", '{"background_of":');
    insert.run("agent", '{"background_of":"parent"}');
    migrate(database, migrations);
    const query = {
      metadata: { background_of: "parent" },
      sort_by: "created_at",
      sort_order: "asc",
      limit: 10,
      offset: 0,
    } as const;
    const { where, parameters } = searchCondition(query);
    const sql = `SELECT session_id FROM sessions ${where} ORDER BY ${searchOrder(query)} LIMIT 10`;
    expect(database.raw.prepare(sql).all(parameters)).toEqual([{ session_id: "agent" }]);
    const plan = JSON.stringify(database.raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(parameters));
    expect(plan).toContain("sessions_of_background");
    expect(plan).not.toContain("TEMP B-TREE");
  } finally {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
