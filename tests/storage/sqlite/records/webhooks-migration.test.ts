import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { webhooksDue } from "../../../contract/runs/webhooks.ts";

it("webhooks from before receivers were stored are kept, each with its receiver", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-migration-"));
  try {
    const path = join(folder, "millrace.db");
    const database = openDatabase(path);
    migrate(
      database,
      migrations.filter(({ id }) => id < 18),
    );
    for (const url of ["https://Hooks.Example:8443/a", "/threads/x/runs"]) {
      database.raw
        .prepare("INSERT INTO webhooks (run_id, url, body, attempts, due_at) VALUES ('r1', ?, '{}', 2, '2026-01-01')")
        .run(url);
    }
    database.close();
    const storage = createSqliteStorage(path);
    try {
      const due = await webhooksDue(storage.webhooks, "2026-01-02");
      expect(due.map(({ host, owner, attempts }) => [host, owner, attempts])).toEqual([
        ["hooks.example:8443", null, 2],
        ["", null, 2],
      ]);
    } finally {
      await storage.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
