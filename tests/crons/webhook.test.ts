import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { startReceiver } from "@millrace/testing/webhook-receiver";

const hourly = "0 * * * *";
let server: TestServer;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  receiver = await startReceiver();
  server = await startTestServer({ webhooks: { allowed: [receiver.host], secret: undefined } });
});
afterAll(async () => {
  await server.remove();
  await receiver.close();
});

test("a cron's webhook gets each of its runs", async () => {
  const webhook = receiver.url;
  const { cron_id } = await server.client.crons.create("counter", { schedule: hourly, input: { value: 1 }, webhook });
  await server.close();
  const storage = createSqliteStorage(join(server.config.dataDir, "millrace.db"));
  await storage.crons.update(cron_id, { next_run_date: new Date(Date.now() - 3_600_000).toISOString() });
  await storage.close();
  server = await server.restart();
  await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(1);
  expect(JSON.parse(receiver.received[0]?.body ?? "")).toMatchObject({
    status: "success",
    metadata: { cron_id },
    values: { value: 2 },
  });
});

test("a webhook that could not be called is refused when the cron is made or changed", async () => {
  const webhook = "http://169.254.169.254/latest";
  const made = await server.send("POST", "/runs/crons", { assistant_id: "counter", schedule: hourly, webhook });
  expect([made.status, await made.text()]).toEqual([403, expect.stringContaining("webhook")]);
  const { cron_id } = await server.client.crons.create("counter", { schedule: hourly });
  const changed = await server.send("PATCH", `/runs/crons/${cron_id}`, { webhook });
  expect(changed.status).toBe(403);
});
