import { afterEach, describe, expect, it } from "vitest";
import { join } from "node:path";
import type { Config } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer | undefined;
let model: ModelServer | undefined;
afterEach(async () => {
  await server?.remove();
  await model?.close();
});

/** A server whose model holds every request until `together` requests wait, or until they are released. */
async function start(together: number, changes: Partial<Config> = {}) {
  const seen = { now: 0, most: 0, byThread: new Map<string, { now: number; most: number }>() };
  const enough = Promise.withResolvers<void>();
  model = await startModelServer({
    handler: async ({ messages }) => {
      const text = JSON.stringify(messages);
      const thread = /thread-(\w+)/u.exec(text)?.[1] ?? "";
      const own = seen.byThread.get(thread) ?? { now: 0, most: 0 };
      seen.byThread.set(thread, own);
      for (const count of [seen, own]) {
        count.now += 1;
        count.most = Math.max(count.most, count.now);
      }
      if (seen.now >= together) enough.resolve();
      await enough.promise;
      for (const count of [seen, own]) count.now -= 1;
      return { text: "done" };
    },
  });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    ...changes,
  });
  const { client } = server;
  const ask = async (threadId: string, name: string): Promise<string> => {
    const { run_id } = await client.runs.create(threadId, "agent", {
      input: { messages: [{ role: "user", content: `Say something to thread-${name}` }] },
      context: { mode: "free_work" },
      multitaskStrategy: "enqueue",
    });
    return run_id;
  };
  return { client, ask, seen };
}

describe("model requests", () => {
  it("of one thread never overlap, while those of others go on (QUEUE-06)", async () => {
    const { client, ask, seen } = await start(2);
    const [one, two] = await Promise.all([client.threads.create(), client.threads.create()]);
    const runs: [string, string][] = [];
    for (const name of ["one", "one"]) runs.push([one.thread_id, await ask(one.thread_id, name)]);
    runs.push([two.thread_id, await ask(two.thread_id, "two")]);
    for (const [thread, run] of runs) await client.runs.join(thread, run);
    expect(seen.most).toBe(2);
    expect([seen.byThread.get("one")?.most, seen.byThread.get("two")?.most]).toEqual([1, 1]);
  });

  it("are queued if only one may run at once (QUEUE-04)", async () => {
    const { client, ask, seen } = await start(1, { modelRequests: 1, modelRate: 1000, toolRate: 1000 });
    const threads = await Promise.all(["a", "b", "c"].map(() => client.threads.create()));
    const runs = await Promise.all(threads.map(async ({ thread_id }, index) => ask(thread_id, `t${index}`)));
    for (const [index, { thread_id }] of threads.entries()) await client.runs.join(thread_id, runs[index] ?? "");
    expect(seen.most).toBe(1);
    expect(seen.byThread.size).toBe(3);
  });
});
