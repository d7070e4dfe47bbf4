import { Client } from "@langchain/langgraph-sdk";
import { Client as SecondClient } from "langgraph-sdk-2";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

/** Both versions of the SDK (wire contract, section 0). */
const versions = {
  "1.15.0": (apiUrl: string) => new Client({ apiUrl, callerOptions: { maxRetries: 0 } }),
  // The methods used here are the same in both versions; only the types differ.
  "2.0.0": (apiUrl: string) => new SecondClient({ apiUrl, callerOptions: { maxRetries: 0 } }) as unknown as Client,
};

describe.each(Object.keys(versions) as (keyof typeof versions)[])("the SDK %s", (version) => {
  const client = (): Client => versions[version](server.url);

  it("writes, reads, finds, lists and deletes items", async () => {
    const { store } = client();
    const root = crypto.randomUUID();
    await store.putItem([root, "a"], "k", { size: 2 }, { ttl: 60, index: ["size"] });
    await store.putItem([root, "b"], "k", { size: 1 }, { ttl: null });
    const item = await store.getItem([root, "a"], "k", { refreshTtl: true });
    expect(item).toMatchObject({ namespace: [root, "a"], key: "k", value: { size: 2 }, createdAt: item?.updatedAt });
    const { items } = await store.searchItems([root], { filter: { size: { $gt: 1 } }, refreshTtl: false });
    expect(items).toMatchObject([{ namespace: [root, "a"], value: { size: 2 } }]);
    expect(await store.listNamespaces({ prefix: [root], maxDepth: 2 })).toEqual({
      namespaces: [
        [root, "a"],
        [root, "b"],
      ],
    });
    await store.deleteItem([root, "a"], "k");
    expect(await store.getItem([root, "a"], "k")).toBeNull();
    const wrong = store.putItem([root, ""], "k", {});
    await expect(wrong).rejects.toThrow("HTTP 422: Namespace labels cannot be empty or contain periods.");
  });

  it("creates, finds, counts, changes and deletes crons", async () => {
    const { crons, threads } = client();
    const { thread_id } = await threads.create();
    const payload = { schedule: "0 9 * * 1", timezone: "Europe/Berlin", input: { value: 1 }, metadata: { version } };
    const alone = await crons.create("counter", { ...payload, onRunCompleted: "keep" });
    const ofThread = await crons.createForThread(thread_id, "counter", payload);
    expect([alone.thread_id, ofThread.thread_id]).toEqual([null, thread_id]);
    expect((await crons.search({ threadId: thread_id })).map(({ cron_id }) => cron_id)).toEqual([ofThread.cron_id]);
    const { assistant_id: assistantId } = alone;
    expect(await crons.count({ assistantId, threadId: thread_id })).toBe(1);
    const changed: unknown = await crons.update(ofThread.cron_id, { enabled: false, endTime: "2999-01-01T00:00:00Z" });
    expect(changed).toMatchObject({ enabled: false, next_run_date: null, end_time: "2999-01-01T00:00:00.000Z" });
    await crons.delete(ofThread.cron_id);
    expect(await crons.count({ threadId: thread_id })).toBe(0);
    await expect(crons.delete(ofThread.cron_id)).rejects.toThrow(`HTTP 404: Cron ${ofThread.cron_id} not found`);
    await expect(crons.create("unknown", payload)).rejects.toThrow('HTTP 404: No assistant found for "unknown"');
  });

  it("gives threads a TTL", async () => {
    const { threads } = client();
    const { thread_id } = await threads.create({ ttl: 60 });
    const shown = async (): Promise<unknown> => (await server.send("GET", `/threads/${thread_id}?include=ttl`)).json();
    expect(await shown()).toMatchObject({ ttl: { ttl_minutes: 60, strategy: "delete" } });
    await threads.update(thread_id, { ttl: { ttl: 90 } });
    expect(await shown()).toMatchObject({ ttl: { ttl_minutes: 90, strategy: "delete" } });
  });
});
