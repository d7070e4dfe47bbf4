import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { GroupCommit } from "@millrace/engine/storage/sqlite/database/durable";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import { createWebhookStore } from "@millrace/engine/storage/sqlite/records/crons";

it("the index skips a backlog of busy receivers, whatever its size", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-webhooks-"));
  const database = openDatabase(join(folder, "millrace.db"));
  try {
    migrate(database, migrations);
    const prepare = vi.spyOn(database, "prepare");
    const store = createWebhookStore(database, new GroupCommit(database));
    const busy = { hosts: ["a.example"], owners: ["ada"] };
    expect([await store.claimDue("2999-01-01", busy), await store.nextDueAt(busy)]).toEqual([undefined, undefined]);
    const asked = prepare.mock.calls.map(([sql]) => sql);
    const parameters = { now: "2999-01-01", taken: "[1]", hosts: '["a.example"]', owners: '["ada"]' };
    for (const sql of asked) {
      const plan = database.raw.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(parameters);
      expect(JSON.stringify(plan)).toContain("webhooks USING COVERING INDEX webhooks_by_receiver");
      expect(JSON.stringify(plan)).not.toContain('"SCAN webhooks"');
    }
    expect(asked).toHaveLength(2);
  } finally {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
