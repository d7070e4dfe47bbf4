import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { runRecord, sessionRecord } from "../../contract/records.ts";
import { openStorageOf, startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const wrong = [
  ["recursion_limit", { recursion_limit: "50" }],
  ["tags", { tags: null }],
  ["timeout", { timeout: "30s" }],
  ["configurable", { configurable: "x" }],
] as const;

/** A server on what `write` has stored. */
async function startOn(write: (storage: OpenedStorage) => Promise<unknown>): Promise<TestServer> {
  const former = await startTestServer();
  onTestFinished(() => former.remove());
  await former.close();
  const storage = await openStorageOf(former.config);
  await write(storage);
  await storage.close();
  const restarted = await former.restart();
  onTestFinished(() => restarted.close());
  return restarted;
}

describe("the config of an assistant", () => {
  it.each(wrong)("is refused with a wrong %s, as that of a run is", async (key, config) => {
    const { assistant_id } = await server.client.assistants.create({ graphId: "counter" });
    const { thread_id } = await server.client.threads.create();
    for (const [method, path, body] of [
      ["POST", "/assistants", { graph_id: "counter", config }],
      ["PATCH", `/assistants/${assistant_id}`, { config }],
      ["POST", `/threads/${thread_id}/runs`, { assistant_id, input: {}, config }],
    ] as const) {
      const answer = await server.send(method, path, body);
      expect([answer.status, await answer.json()], path).toMatchObject([
        400,
        { error: { issues: [{ path: ["config", key] }] } },
      ]);
    }
  });

  it("keeps what else a client stores in it", async () => {
    const config = {
      recursion_limit: 50,
      configurable: { model: "x", any: [1, null] },
      run_name: "n",
      callbacks: null,
    };
    const created = await server.send("POST", "/assistants", { graph_id: "counter", config });
    const assistant: unknown = await created.json();
    expect(assistant).toMatchObject({ config });
    const { assistant_id } = assistant as { assistant_id: string };
    const more = { ...config, tags: ["t"], own: { key: "value" } };
    const changed = await server.send("PATCH", `/assistants/${assistant_id}`, { config: more });
    expect(await changed.json()).toMatchObject({ config: more, version: 2 });
    const run = await server.send("POST", "/runs/wait", { assistant_id, input: { value: 1 } });
    expect([run.status, await run.json()]).toMatchObject([200, { value: 2 }]);
  });
});

describe("a wrong config that was stored before it was checked", () => {
  // Of `configurable` each key goes for itself: what is no object has none.
  it.each(wrong.filter(([key]) => key !== "configurable"))(
    "refuses a run of its assistant, which has the wrong %s, and names both",
    async (key, config) => {
      const assistant_id = crypto.randomUUID();
      const now = new Date().toISOString();
      const own = await startOn((storage) =>
        storage.assistants.create({
          assistant_id,
          owner: null,
          is_system: false,
          graph_id: "counter",
          config,
          context: {},
          metadata: {},
          version: 1,
          name: "n",
          description: null,
          created_at: now,
          updated_at: now,
        }),
      );
      const { thread_id } = await own.client.threads.create();
      const run = { assistant_id, input: { value: 1 } };
      for (const path of [`/threads/${thread_id}/runs`, "/runs/wait"]) {
        const refused = await own.send("POST", path, run);
        expect(refused.status, path).toBe(400);
        const said = await refused.text();
        expect(said).toContain(assistant_id);
        expect(said).toContain(`config.${key}: `);
      }
      // The thread is free.
      expect(await own.client.runs.wait(thread_id, "counter", { input: { value: 1 } })).toMatchObject({ value: 2 });
      await own.client.assistants.update(assistant_id, { config: {} });
      expect(await own.client.runs.wait(thread_id, assistant_id, { input: {} })).toMatchObject({ value: 3 });
    },
  );

  it("lets a run that gives its own value begin", async () => {
    const assistant_id = crypto.randomUUID();
    const now = new Date().toISOString();
    const own = await startOn((storage) =>
      storage.assistants.create({
        assistant_id,
        owner: null,
        is_system: false,
        graph_id: "counter",
        context: {},
        metadata: {},
        version: 1,
        config: { tags: null },
        name: "n",
        description: null,
        created_at: now,
        updated_at: now,
      }),
    );
    const run = { assistant_id, input: { value: 1 }, config: { tags: [] } };
    expect(await (await own.send("POST", "/runs/wait", run)).json()).toMatchObject({ value: 2 });
  });

  it("fails a run that was stored with it; its thread is free, and runs behind it go on", async () => {
    const [wedged, other] = [crypto.randomUUID(), crypto.randomUUID()];
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    const own = await startOn(async ({ sessions, runs }) => {
      for (const [sessionId, runId, config] of [
        [wedged, first, { recursion_limit: "50" }],
        [other, second, {}],
      ] as const) {
        await sessions.create(sessionRecord(sessionId));
        const run = runRecord(runId, sessionId);
        const kwargs = { ...run.kwargs, input: { value: 1 }, config };
        await runs.admit({ ...run, graph_id: "counter", assistant_id: "of-the-run", kwargs });
        await runs.claim(sessionId);
        // Ended with a process before, so that these are taken up one after the other.
        await runs.reclaim(runId);
      }
    });
    expect(await (await own.send("GET", `/threads/${wedged}/runs/${first}/join`)).json()).toMatchObject({
      __error__: {
        error: "invalid_parameter",
        message: expect.stringMatching(/of-the-run.*config\.recursion_limit: /u),
      },
    });
    expect(await own.client.runs.get(wedged, first)).toMatchObject({ status: "error" });
    expect(await own.client.runs.join(other, second)).toMatchObject({ value: 2 });
    expect(await own.client.runs.wait(wedged, "counter", { input: { value: 1 } })).toMatchObject({ value: 2 });
    expect((await own.send("DELETE", `/threads/${wedged}`)).status).toBe(204);
  });
});
