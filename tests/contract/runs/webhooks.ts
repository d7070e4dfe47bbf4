import { describe, expect, it } from "vitest";
import type { RunOutcome } from "@millrace/engine/storage/attempt-store";
import type { Storage } from "@millrace/engine/storage/storage";
import type { BusyReceivers, Webhook, WebhookStore } from "@millrace/engine/storage/record-stores";
import { runRecord, sessionRecord, type StorageFixture, finish } from "../records.ts";

const far = "2999-01-01T00:00:00.000Z";

/** Ends a run of a session of its own, with a webhook. */
async function endRun(
  storage: Storage,
  id: string,
  webhook: RunOutcome["webhook"],
  owner: string | null = null,
): Promise<void> {
  await storage.sessions.create({ ...sessionRecord(`s-${id}`), owner });
  await storage.runs.admit(runRecord(id, `s-${id}`));
  await finish(storage, id, { status: "success", session_status: "idle", interrupts: {}, webhook });
}

/** The due webhooks, oldest first; they remain due. */
export async function webhooksDue(webhooks: WebhookStore, now: string, busy?: BusyReceivers): Promise<Webhook[]> {
  const due: Webhook[] = [];
  for (let one = await webhooks.claimDue(now, busy); one !== undefined; one = await webhooks.claimDue(now, busy))
    due.push(one);
  for (const { webhook_id } of due) await webhooks.release(webhook_id);
  return due;
}

/** Webhooks that are to be delivered after runs have ended. */
export function describeWebhooks(fixture: StorageFixture): void {
  describe("webhooks", () => {
    it("are stored with the end of their run, and survive the run, its session and a restart", async () => {
      const { sessions, webhooks } = fixture.storage;
      expect(await webhooks.nextDueAt()).toBeUndefined();
      await endRun(fixture.storage, "r0", undefined);
      await endRun(fixture.storage, "r1", { url: "https://example.com/a", host: "example.com", body: '{"a":1}' });
      await endRun(fixture.storage, "r2", { url: "/b", host: "", body: "{}" });
      // A second end of the run stores no webhook.
      const late: RunOutcome = { status: "error", session_status: "error", interrupts: {} };
      await finish(fixture.storage, "r1", { ...late, webhook: { url: "/c", host: "", body: "{}" } });
      await sessions.delete("s-r1");
      const after = (await fixture.reopen()).webhooks;
      const due = await webhooksDue(after, far);
      expect(due.map(({ run_id, url, body, attempts }) => [run_id, url, body, attempts])).toEqual([
        ["r1", "https://example.com/a", '{"a":1}', 0],
        ["r2", "/b", "{}", 0],
      ]);
      expect(await after.nextDueAt()).toBe(due[0]?.due_at);
      expect(await after.claimDue("2020-01-01T00:00:00.000Z")).toBeUndefined();
    });

    it("are taken by one server at a time, until they are given back or that server has gone", async () => {
      for (const id of ["r1", "r2"]) await endRun(fixture.storage, id, { url: "/a", host: "", body: "{}" });
      const { webhooks } = fixture.storage;
      const taken = await Promise.all([1, 2, 3].map(() => webhooks.claimDue(far)));
      expect(new Set(taken.map((one) => one?.run_id))).toEqual(new Set(["r1", "r2", undefined]));
      const again = (await webhooks.nextDueAt()) ?? far;
      expect(Date.parse(again)).toBeGreaterThan(Date.now());
      await webhooks.release(taken[1]?.webhook_id ?? -1);
      expect(await webhooks.claimDue(far)).toEqual(taken[1]);
      expect((await webhooksDue((await fixture.reopen()).webhooks, far)).map(({ run_id }) => run_id)).toEqual([
        "r1",
        "r2",
      ]);
    });

    it("are due later after a failed delivery, and can be removed", async () => {
      await endRun(fixture.storage, "r1", { url: "/a", host: "", body: "{}" });
      const { webhooks } = fixture.storage;
      const webhook = await webhooks.claimDue(far);
      const id = webhook?.webhook_id ?? -1;
      await webhooks.postpone(id, "2998-01-01T00:00:00.000Z");
      expect(await webhooks.claimDue(new Date().toISOString())).toBeUndefined();
      expect(await webhooksDue(webhooks, far)).toEqual([
        { ...webhook, attempts: 1, due_at: "2998-01-01T00:00:00.000Z" },
      ]);
      expect(await webhooks.nextDueAt()).toBe("2998-01-01T00:00:00.000Z");
      await webhooks.remove(id);
      expect(await webhooks.nextDueAt()).toBeUndefined();
    });

    it("of busy receivers and owners are skipped", async () => {
      await endRun(fixture.storage, "r1", { url: "https://one.example/a", host: "one.example", body: "{}" }, "ada");
      await endRun(fixture.storage, "r2", { url: "https://two.example/a", host: "two.example", body: "{}" }, "bob");
      await endRun(fixture.storage, "r3", { url: "/a", host: "", body: "{}" });
      const { webhooks } = fixture.storage;
      const all = await webhooksDue(webhooks, far);
      expect(all.map(({ host, owner }) => [host, owner])).toEqual([
        ["one.example", "ada"],
        ["two.example", "bob"],
        ["", null],
      ]);
      const [first, , third] = all.map(({ webhook_id }) => webhook_id);
      const idle = { hosts: [], owners: [] };
      const left = async (busy: Partial<BusyReceivers>) =>
        (await webhooksDue(webhooks, far, { ...idle, ...busy })).map(({ webhook_id }) => webhook_id);
      expect(await left({ hosts: ["two.example"] })).toEqual([first, third]);
      expect(await left({ owners: ["ada", "bob"] })).toEqual([third]);
      expect(await webhooks.nextDueAt({ ...idle, owners: ["ada"], hosts: [""] })).toBe(all[1]?.due_at);
    });
  });
}
