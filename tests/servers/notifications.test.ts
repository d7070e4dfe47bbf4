import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { PostgresDatabase } from "@millrace/engine/storage/postgres/database/database";
import { PostgresNotifications } from "@millrace/engine/storage/postgres/notifications/notifications";
import type { PeerNotification } from "@millrace/engine/storage/cluster";
import { cronRecord } from "../contract/crons.ts";
import { sessionRecord } from "../contract/records.ts";
import { startPostgres, withClient } from "../support/processes/postgres.ts";
import { createServers } from "./two-servers.ts";

const server = await startPostgres();
const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});
afterAll(() => server?.stop());

/** One of several servers on a database, and what it has received. */
async function join(url: string, id: number, listenUrl = url) {
  const database = new PostgresDatabase(url);
  const received: [PeerNotification, number][] = [];
  const silent = vi.fn<(reason: unknown) => void>();
  const notifications = new PostgresNotifications({
    database,
    url: listenUrl,
    id: () => id,
    hasPeers: () => true,
    onListenerLost: silent,
  });
  notifications.onNotification((notification, from) => received.push([notification, from]));
  opened.push(async () => {
    await notifications.stop();
    await database.close();
  });
  await notifications.start();
  return { notifications, received, silent, database };
}

const moved = (run_id: string): PeerNotification => ({ type: "moved", run_id });

describe.skipIf(server === undefined)("notifications between servers on one PostgreSQL", () => {
  it("reach the named server, or all others, and never the sender", async () => {
    const url = (await server?.create()) ?? "";
    const [a, b, c] = [await join(url, 1), await join(url, 2), await join(url, 3)];
    a.notifications.send(2, moved("r1"));
    a.notifications.send("all", moved("r2"));
    await expect
      .poll(() => b.received)
      .toEqual([
        [moved("r1"), 1],
        [moved("r2"), 1],
      ]);
    await expect.poll(() => c.received).toEqual([[moved("r2"), 1]]);
    expect(a.received).toEqual([]);
  });

  it("are batched, each sent once, in few statements", async () => {
    const url = (await server?.create()) ?? "";
    const [a, b] = [await join(url, 1), await join(url, 2)];
    const sent = vi.spyOn(a.database, "rows");
    for (let number = 0; number < 1_000; number += 1) a.notifications.send(2, moved(`r${number % 100}`));
    await expect.poll(() => b.received.length).toBe(100);
    expect(sent).toHaveBeenCalledOnce();
  });

  it("that are too long for PostgreSQL are left out, and unknown ones of a later version are ignored", async () => {
    const url = (await server?.create()) ?? "";
    const [a, b] = [await join(url, 1), await join(url, 2)];
    a.notifications.send(2, moved("r".repeat(9_000)));
    const payloads = ['[3,{"type":"later"}]', "no JSON"];
    await withClient(url, (client) =>
      client.query("SELECT pg_notify('millrace_2', payload) FROM unnest($1::text[]) AS payload", [payloads]),
    );
    a.notifications.send(2, moved("r1"));
    await expect.poll(() => b.received).toEqual([[moved("r1"), 1]]);
  });

  it("are received again after the connection was cut, with a callback because some may be missing", async () => {
    const url = (await server?.create()) ?? "";
    const [a, b] = [await join(url, 1), await join(url, 2)];
    const restored = vi.fn<() => void>();
    b.notifications.onRestored(restored);
    await withClient(url, (client) =>
      client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN \"millrace_2\"'"),
    );
    await expect.poll(() => restored.mock.calls.length).toBe(1);
    expect(b.silent).toHaveBeenCalledOnce();
    expect(b.notifications.isListening).toBe(true);
    a.notifications.send(2, moved("r1"));
    await expect.poll(() => b.received).toEqual([[moved("r1"), 1]]);
  });

  it("do not arrive through a pooler, which the server detects and reports", async () => {
    const [url, elsewhere] = [(await server?.create()) ?? "", (await server?.create()) ?? ""];
    // As with a pooler, a notification of one connection does not reach the other.
    const b = await join(url, 2, elsewhere);
    expect(b.notifications.isListening).toBe(false);
    expect(String(b.silent.mock.calls[0]?.[0])).toContain("has not arrived");
  });

  it("carry the dates at which crons, items and threads are due", async () => {
    const servers = await createServers(server);
    opened.push(() => servers.close());
    const [one, other] = [await servers.open(), await servers.open()];
    const due: [what: string, date: string][] = [];
    one.crons.onDueDate((date) => due.push(["cron", date]));
    one.items.onExpiry((date) => due.push(["item", date]));
    one.ttls.onExpiry((date) => due.push(["thread", date]));
    const next_run_date = "2999-01-01T00:00:00.000Z";
    await other.crons.create(cronRecord(crypto.randomUUID(), { next_run_date }));
    await other.items.change("ada", [{ namespace: ["a"], key: "k", value: {}, ttl: 60 }]);
    await other.sessions.create(sessionRecord("s1"));
    const ttl = await other.ttls.set("s1", { minutes: 5, strategy: "delete" });
    const item = expect.stringMatching(/^\d{4}-.*Z$/u);
    await expect
      .poll(() => due)
      .toEqual([
        ["cron", next_run_date],
        ["item", item],
        ["thread", ttl?.expires_at],
      ]);
  });
});
