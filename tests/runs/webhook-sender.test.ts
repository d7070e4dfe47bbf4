import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { WebhookSender, type WebhookSenderParts } from "@millrace/engine/runs/webhook-sender";
import type { WebhookStore } from "@millrace/engine/storage/record-stores";
import { insertWebhook } from "@millrace/engine/storage/sqlite/records/crons";
import { sessionRecord } from "../contract/records.ts";
import { webhooksDue } from "../contract/runs/webhooks.ts";
import { createTestStorage, type TestStorage } from "../support/test-storage.ts";
import { startReceiver } from "@millrace/testing/webhook-receiver";

let receiver: Awaited<ReturnType<typeof startReceiver>>;
let sender: WebhookSender;
let storage: TestStorage;
let store: WebhookStore;
const answers: number[] = [];
beforeEach(async () => {
  answers.length = 0;
  receiver = await startReceiver(answers);
  storage = createTestStorage();
  store = storage.webhooks;
  for (const owner of ["ada", "eve"]) await storage.sessions.create(sessionRecord(owner, { owner }));
});
afterEach(async () => {
  await sender.stop();
  await receiver.close();
});

function start(parts: Partial<WebhookSenderParts> = {}): void {
  const settings = { allowed: [receiver.host], secret: undefined };
  sender = new WebhookSender({ store, settings, logger: createLogger("silent"), pauses: [1, 1], ...parts });
  sender.start(`http://${receiver.host}`);
}

/** A run of an owner's session has ended, and its webhook is due. */
function add(run_id: string, { owner = "unknown", url, body }: { owner?: string; url: string; body: string }): void {
  const host = URL.canParse(url) ? new URL(url).host : "";
  insertWebhook(storage.database, { run_id, session_id: owner }, { url, host, body });
}

const isEmpty = (): boolean => storage.database.raw.prepare("SELECT 1 FROM webhooks").get() === undefined;

describe("a webhook", () => {
  it("is sent again until the receiver takes it, with the same id", async () => {
    answers.push(500, 302);
    add("r1", { url: receiver.url, body: '{"a":1}' });
    start();
    await expect.poll(isEmpty).toBe(true);
    expect(receiver.received.map(({ path, headers }) => [path, headers["webhook-id"]])).toEqual([
      ["/hook", "r1"],
      ["/hook", "r1"],
      ["/hook", "r1"],
    ]);
  });

  it("is given up after the last pause", async () => {
    answers.push(500, 500, 500, 500);
    add("r1", { url: receiver.url, body: '{"a":1}' });
    start();
    await expect.poll(isEmpty).toBe(true);
    expect(receiver.received).toHaveLength(3);
  });

  it("of a host that may not be called is given up at once, also where its name only leads there", async () => {
    add("r1", { url: "http://10.0.0.7/hook", body: '{"a":1}' });
    add("r2", { url: "http://rebound.example/hook", body: '{"a":1}' });
    start({ find: async () => ["127.0.0.1"] });
    await expect.poll(isEmpty).toBe(true);
    expect(receiver.received).toEqual([]);
  });

  it("to a path goes to this server, whatever hosts are allowed beside it", async () => {
    add("r1", { url: "/own/path?x=1", body: '{"a":1}' });
    start({ settings: { allowed: [], secret: undefined } });
    await expect.poll(isEmpty).toBe(true);
    expect(receiver.received.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
      ["/own/path?x=1", { a: 1, webhook_sent_at: expect.any(String) }],
    ]);
  });

  it("that is under way when the server stops is left for the next start", async () => {
    const arrived = Promise.withResolvers<void>();
    add("r1", { url: "http://slow.example/hook", body: '{"a":1}' });
    start({
      settings: { allowed: ["slow.example"], secret: undefined },
      find: async (_name, _isNamed, signal) => {
        arrived.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        throw signal.reason;
      },
    });
    await arrived.promise;
    await sender.stop();
    expect(await webhooksDue(store, "2999-01-01T00:00:00.000Z")).toMatchObject([{ run_id: "r1", attempts: 0 }]);
  });

  it("waits for no receiver of others: one host and one owner have only so much of the room", async () => {
    const slow = new Set<string>();
    const settings = { allowed: ["dead.example", ...numbered("slow", 40), receiver.host], secret: undefined };
    // More than all the room there is, and all of it due before.
    for (const run of numbered("d", 100)) add(run, { url: "http://dead.example/hook", body: "{}" });
    for (const host of numbered("slow", 40)) add(host, { url: `http://${host}/hook`, body: "{}", owner: "eve" });
    add("mine", { url: receiver.url, body: "{}", owner: "ada" });
    const find: WebhookSenderParts["find"] = async (name, _isNamed, signal) => {
      if (name === "127.0.0.1") return [name];
      slow.add(name);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason;
    };
    start({ settings, find });
    await expect.poll(() => receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual(["mine"]);
    expect(slow.size).toBeLessThan(10);
    await sender.stop();
    // None of those that were broken off is lost, or was counted as tried.
    const left = await webhooksDue(store, "2999-01-01T00:00:00.000Z");
    expect([left.length, left.every(({ attempts }) => attempts === 0)]).toEqual([140, true]);
  });

  it("that ends lets the next one begin, while others are still under way", async () => {
    const [taken, stays] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const settings = { allowed: ["slow.example", receiver.host], secret: undefined };
    for (const run of numbered("s", 3)) add(run, { url: "http://slow.example/hook", body: "{}" });
    for (const run of numbered("q", 50)) add(run, { url: receiver.url, body: "{}" });
    const find: WebhookSenderParts["find"] = async (name, _isNamed, signal) => {
      if (name === "127.0.0.1") return [name];
      taken.resolve();
      await Promise.race([stays.promise, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      throw new Error("gone");
    };
    start({ settings, find });
    await taken.promise;
    await expect.poll(() => receiver.received.length).toBe(50);
    stays.resolve();
    await expect.poll(isEmpty).toBe(true);
  });
});

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}${index}${name === "slow" ? ".example" : ""}`);
}
