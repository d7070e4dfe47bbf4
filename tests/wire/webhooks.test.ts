import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startReceiver } from "@millrace/testing/webhook-receiver";
import { startTestServer, type TestServer } from "../support/test-server.ts";

const secret = "a secret of ours";
const isoDate = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const patience = { timeout: 10_000 };
let server: TestServer;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  receiver = await startReceiver();
  server = await startTestServer({ webhooks: { allowed: [receiver.host], secret } });
});
afterAll(async () => {
  await server.remove();
  await receiver.close();
});

/** The webhook of a run, once it has arrived. */
async function deliveryOf(runId: string) {
  const found = () => receiver.received.find(({ headers }) => headers["webhook-id"] === runId);
  await expect.poll(found, patience).toBeDefined();
  return found();
}

describe("a webhook", () => {
  test("sends the Run, its values and its times, signed", async () => {
    const { thread_id } = await server.client.threads.create();
    const run = await server.client.runs.create(thread_id, "counter", { input: { value: 1 }, webhook: receiver.url });
    expect(run).toMatchObject({ kwargs: { webhook: receiver.url } });
    const delivery = await deliveryOf(run.run_id);
    const ended = await server.client.runs.get(thread_id, run.run_id);
    expect(JSON.parse(delivery?.body ?? "")).toEqual({
      ...ended,
      updated_at: isoDate,
      run_started_at: isoDate,
      run_ended_at: isoDate,
      webhook_sent_at: isoDate,
      values: { value: 2 },
    });
    expect(ended.status).toBe("success");
    const { "webhook-timestamp": at, "webhook-signature": signature, ...headers } = delivery?.headers ?? {};
    const digest = createHmac("sha256", secret)
      .update(`${run.run_id}.${String(at)}.${delivery?.body}`)
      .digest("base64");
    expect(signature).toBe(`v1,${digest}`);
    expect(headers).toMatchObject({ "content-type": "application/json" });
  });

  test("of a run without a thread sends the values in any stream mode, with messages as on the wire", async () => {
    const input = { messages: [{ role: "user", content: "hi" }] };
    const body = { assistant_id: "talker", input, webhook: receiver.url, stream_mode: "updates" };
    const response = await server.send("POST", "/runs/stream", body);
    const runId = response.headers.get("content-location")?.split("/").at(-1) ?? "";
    await response.text();
    expect(JSON.parse((await deliveryOf(runId))?.body ?? "")).toMatchObject({
      status: "success",
      values: { messages: [{ type: "human" }, { type: "ai", content: "Hello there" }] },
    });
  });

  test("of a failed run sends the error", async () => {
    const { thread_id } = await server.client.threads.create();
    const run = await server.client.runs.create(thread_id, "failing", { input: {}, webhook: receiver.url });
    expect(JSON.parse((await deliveryOf(run.run_id))?.body ?? "")).toMatchObject({
      status: "error",
      error: "out of luck",
    });
  });

  test("may be a path of this server", async () => {
    const [one, other] = [await server.client.threads.create(), await server.client.threads.create()];
    const webhook = `/threads/${other.thread_id}/runs`;
    await server.client.runs.wait(one.thread_id, "counter", { input: {}, webhook });
    await expect.poll(async () => (await server.client.runs.list(other.thread_id)).length, patience).toBe(1);
  });

  test("that is refused is retried, also after a restart of the server", async () => {
    const closed = await startReceiver([503]);
    const other = await startTestServer({ webhooks: { allowed: [closed.host], secret: undefined } });
    const { thread_id } = await other.client.threads.create();
    const run = await other.client.runs.create(thread_id, "counter", { input: {}, webhook: closed.url });
    await expect.poll(() => closed.received.length, patience).toBe(1);
    await other.close();
    const again = await other.restart();
    await expect.poll(() => closed.received.length, patience).toBe(2);
    expect(closed.received.map(({ headers }) => headers["webhook-id"])).toEqual([run.run_id, run.run_id]);
    expect(closed.received[1]?.headers).not.toHaveProperty("webhook-signature");
    await again.remove();
    await closed.close();
  });

  test.each([
    ["http://10.0.0.7/hook", 403],
    ["http://localhost:1/hook", 403],
    ["http://169.254.169.254/latest", 403],
    ["//10.0.0.7/hook", 400],
    ["/\\10.0.0.7:2375/hook", 400],
    ["/\t/10.0.0.7/hook", 400],
    ["/\n/10.0.0.7/hook", 400],
    ["ftp://example.com/hook", 400],
    ["http://name:word@example.com/hook", 403],
    ["no address", 400],
  ])("with an invalid or forbidden URL is refused before the run is admitted: %s", async (webhook, status) => {
    const { thread_id } = await server.client.threads.create();
    const body = { assistant_id: "counter", input: {}, webhook };
    for (const kind of ["", "/wait", "/stream"]) {
      expect((await server.send("POST", `/threads/${thread_id}/runs${kind}`, body)).status).toBe(status);
    }
    expect(await server.client.runs.list(thread_id)).toEqual([]);
  });
});
