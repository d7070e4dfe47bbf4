import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";

it("sessions from before owners have none, and are found where that is requested", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-migration-"));
  try {
    const path = join(folder, "millrace.db");
    const database = openDatabase(path);
    migrate(
      database,
      migrations.filter(({ id }) => id < 6),
    );
    database.raw
      .prepare(
        `INSERT INTO sessions (session_id, created_at, updated_at, status, metadata, config, interrupts)
         VALUES ('s1', '2026-01-01', '2026-01-02', 'idle', '{}', '{}', '{}')`,
      )
      .run();
    database.close();
    const storage = createSqliteStorage(path);
    try {
      expect(await storage.sessions.get("s1")).toMatchObject({ session_id: "s1", owner: null });
      const total = async (orphans: boolean) =>
        (await storage.sessions.search({ limit: 10, offset: 0, owner: { name: "ada", orphans } })).total;
      expect([await total(false), await total(true)]).toEqual([0, 1]);
    } finally {
      await storage.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
