import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { startPostgres } from "../support/processes/postgres.ts";
import { openGate } from "../support/test-graphs.ts";
import { createServers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("servers that serve different graphs", () => {
  it("take over only runs of their graphs, say why others wait, and end those with a stop request", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-"));
    const graphs = join(folder, "langgraph.json");
    const file = fileURLToPath(new URL("../support/test-graphs.ts", import.meta.url));
    writeFileSync(graphs, JSON.stringify({ graphs: { counter: `${file}:counter` } }));
    const servers = await createServers(postgres);
    try {
      const [both, fewer] = [await servers.start({ drainSeconds: 0 }), await servers.start({ graphs })];
      const begin = async () => {
        const gate = crypto.randomUUID();
        const { thread_id } = await both.client.threads.create();
        const { run_id } = await both.client.runs.create(thread_id, "gated", { input: { gate } });
        await expect.poll(async () => (await both.client.runs.get(thread_id, run_id)).status).toBe("running");
        return { gate, thread_id, run_id };
      };
      const [first, stopped] = [await begin(), await begin()];
      // The other server starts nothing of a thread before its turn, either.
      const input = { value: 1 };
      const behind = await fewer.client.runs.create(first.thread_id, "counter", {
        input,
        multitaskStrategy: "enqueue",
      });
      await both.close();
      const seen = (): Promise<unknown> => fewer.client.runs.get(first.thread_id, first.run_id);
      await expect.poll(seen).toMatchObject({ status: "running", wait_reason: expect.stringContaining('"gated"') });
      await fewer.client.runs.cancel(stopped.thread_id, stopped.run_id, true);
      expect(await fewer.client.runs.get(stopped.thread_id, stopped.run_id)).toMatchObject({ status: "interrupted" });
      expect(await seen()).toMatchObject({ status: "running" });
      expect(await fewer.client.runs.get(first.thread_id, behind.run_id)).toMatchObject({ status: "pending" });
      openGate(first.gate);
      const again = await servers.start();
      // The state cannot show it: the other server may have started the run behind it.
      const events = fewer.client.runs.joinStream(first.thread_id, first.run_id, { lastEventId: "-1" });
      const values = (await Array.fromAsync(events)).map(({ data }) => data);
      expect(values.at(-1)).toMatchObject({ passed: true });
      expect(await again.client.runs.join(first.thread_id, behind.run_id)).toMatchObject({ value: 2 });
      expect(await seen()).not.toHaveProperty("wait_reason");
    } finally {
      await servers.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
