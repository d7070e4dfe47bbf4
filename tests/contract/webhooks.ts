import { describe, expect, it } from "vitest";
import type { RunOutcome, Storage } from "../../src/storage/storage.ts";
import { runRecord, sessionRecord, type StorageFixture } from "./records.ts";

const far = "2999-01-01T00:00:00.000Z";

/** Ends a run of a session of its own, with something to tell. */
async function endRun({ sessions, runs }: Storage, id: string, webhook: RunOutcome["webhook"]): Promise<void> {
  await sessions.create(sessionRecord(`s-${id}`));
  await runs.admit(runRecord(id, `s-${id}`));
  await runs.finish(id, { status: "success", session_status: "idle", interrupts: {}, webhook });
}

/** What the ends of runs have left to tell. */
export function describeWebhooks(fixture: StorageFixture): void {
  describe("webhooks", () => {
    it("are written with the end of their run, outlive it and its session, and a restart", async () => {
      const { sessions, webhooks } = fixture.storage;
      expect(await webhooks.next()).toBeUndefined();
      await endRun(fixture.storage, "r0", undefined);
      await endRun(fixture.storage, "r1", { url: "https://example.com/a", body: '{"a":1}' });
      await endRun(fixture.storage, "r2", { url: "/b", body: "{}" });
      // An end that comes too late tells nothing.
      const late: RunOutcome = { status: "error", session_status: "error", interrupts: {} };
      await fixture.storage.runs.finish("r1", { ...late, webhook: { url: "/c", body: "{}" } });
      await sessions.delete("s-r1");
      const after = (await fixture.reopen()).webhooks;
      const due = await after.due(far, 10);
      expect(due.map(({ run_id, url, body, attempts }) => [run_id, url, body, attempts])).toEqual([
        ["r1", "https://example.com/a", '{"a":1}', 0],
        ["r2", "/b", "{}", 0],
      ]);
      expect(await after.next()).toBe(due[0]?.due_at);
      expect(await after.due(far, 1)).toEqual(due.slice(0, 1));
      expect(await after.due("2020-01-01T00:00:00.000Z", 10)).toEqual([]);
    });

    it("are due later after a try that failed, and gone when they are removed", async () => {
      await endRun(fixture.storage, "r1", { url: "/a", body: "{}" });
      const { webhooks } = fixture.storage;
      const [webhook] = await webhooks.due(far, 10);
      const id = webhook?.webhook_id ?? -1;
      await webhooks.postpone(id, "2998-01-01T00:00:00.000Z");
      expect(await webhooks.due(new Date().toISOString(), 10)).toEqual([]);
      expect(await webhooks.due(far, 10)).toEqual([{ ...webhook, attempts: 1, due_at: "2998-01-01T00:00:00.000Z" }]);
      expect(await webhooks.next()).toBe("2998-01-01T00:00:00.000Z");
      await webhooks.remove(id);
      expect(await webhooks.next()).toBeUndefined();
    });
  });
}
