import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import { createOverviewStore } from "@millrace/engine/storage/sqlite/records/overview";

it("the history of a file is found by an index on its paths, not by a scan of all operations", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-operations-"));
  const database = openDatabase(join(folder, "millrace.db"));
  try {
    migrate(database, migrations);
    const prepare = vi.spyOn(database, "prepare");
    await createOverviewStore(database).operations({ path: "a.md", sessions: {}, limit: 10 });
    const [sql] = prepare.mock.calls.at(-1) ?? [""];
    const plan = JSON.stringify(database.raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all({ path: "a.md", limit: 11 }));
    for (const name of ["path", "source", "target"]) expect(plan).toContain(`USING INDEX operations_by_${name}`);
    expect(plan).not.toContain("SCAN operations");
  } finally {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
