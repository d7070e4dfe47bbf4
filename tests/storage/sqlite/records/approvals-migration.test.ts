import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";

describe("a database from before approvals", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-migration-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("keeps its pending questions", async () => {
    const path = join(folder, "millrace.db");
    const interrupts = {
      task: [
        { id: "one", value: { question: "Go on?" } },
        { id: "two", value: "How deep?" },
      ],
    };
    const database = openDatabase(path);
    migrate(
      database,
      migrations.filter(({ id }) => id < 4),
    );
    database.raw
      .prepare(
        `INSERT INTO sessions (session_id, created_at, updated_at, status, metadata, config, interrupts)
         VALUES ('s1', '2026-01-01', '2026-01-02', 'interrupted', '{}', '{}', ?), ('s2', '', '', 'idle', '{}', '{}', '{}')`,
      )
      .run(JSON.stringify(interrupts));
    database.close();

    const storage = createSqliteStorage(path);
    try {
      expect(await storage.approvals.pending("s1")).toMatchObject([
        { interrupt_id: "one", task_id: "task", value: { question: "Go on?" }, asked_at: "2026-01-02", decision: null },
        { interrupt_id: "two", value: "How deep?", state: "pending" },
      ]);
      expect(await storage.approvals.pending("s2")).toEqual([]);
    } finally {
      await storage.close();
    }
  });
});
