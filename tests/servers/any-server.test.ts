import { Client } from "@langchain/langgraph-sdk";
import { afterAll, expect, it } from "vitest";
import { RoundRobin } from "@millrace/testing/round-robin";
import { startPostgres } from "../support/processes/postgres.ts";
import { openGate } from "../support/test-graphs.ts";
import { createServers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** What `MILLRACE_TEST_STORAGE=servers` does for all of `tests/wire`. */
it.skipIf(postgres === undefined)(
  "answers a client whose requests alternate between two servers like a single server",
  async () => {
    const servers = await createServers(postgres);
    const [one, other] = [await servers.start(), await servers.start()];
    const balancer = await new RoundRobin(() => [one.url, other.url]).listen();
    try {
      const { threads, runs, store } = new Client({ apiUrl: balancer.url, callerOptions: { maxRetries: 0 } });
      const { thread_id } = await threads.create();
      const gate = crypto.randomUUID();
      const run = await runs.create(thread_id, "flood", { input: { events: 40, gate }, streamMode: ["custom"] });
      const read = [0, 1, 2].map(() => Array.fromAsync(runs.joinStream(thread_id, run.run_id)));
      // Queued behind it, whichever server receives it.
      const next = runs.wait(thread_id, "counter", { input: { value: 1 }, multitaskStrategy: "enqueue" });
      await expect.poll(async () => (await runs.get(thread_id, run.run_id)).status).toBe("running");
      openGate(gate);
      for (const events of await Promise.all(read)) {
        expect(events.filter(({ event }) => event === "custom")).toHaveLength(40);
      }
      expect(await next).toMatchObject({ value: 2 });
      await threads.updateState(thread_id, { values: { value: 5 } });
      expect(await runs.wait(thread_id, "counter", { input: null })).toMatchObject({ value: 5 });
      const streamed = await Array.fromAsync(runs.stream(thread_id, "counter", { input: { value: 8 } }));
      expect(streamed.at(-1)).toMatchObject({ event: "values", data: { value: 9 } });
      expect((await threads.getState(thread_id)).values).toMatchObject({ value: 9 });
      await store.putItem(["a"], "key", { is: "there" });
      expect(await store.getItem(["a"], "key")).toMatchObject({ value: { is: "there" } });
      await threads.delete(thread_id);
      await expect(threads.get(thread_id)).rejects.toMatchObject({ status: 404 });
      await expect(threads.get(thread_id)).rejects.toMatchObject({ status: 404 });
    } finally {
      await balancer.close();
      await servers.close();
    }
  },
);
