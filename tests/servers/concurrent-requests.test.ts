import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { startPostgres } from "../support/processes/postgres.ts";
import { byHeader, openRulesServers } from "../support/rules-servers.ts";
import type { TestServer } from "../support/test-server.ts";
import { openGate } from "../support/test-graphs.ts";
import { createServers, type Servers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("concurrent requests to two servers on one database", () => {
  let servers: Servers;
  beforeEach(async () => {
    servers = await createServers(postgres);
  });
  afterEach(() => servers.close());

  it("give a key of the store to one of two users whose rules hide each other's items", async () => {
    const rules = await openRulesServers();
    const byValue = `${byHeader}.on("store", ({ user }) => ({ of: user.identity }))`;
    const serve = () => rules.serve(byValue, { database: servers.url, leaseSeconds: 60 });
    try {
      const users = [
        { name: "ada", server: await serve() },
        { name: "bob", server: await serve() },
      ];
      const send = async (method: string, of: string, value?: object): Promise<number> => {
        const server = users.find(({ name }) => name === of)?.server;
        const item = { namespace: ["notes"], key: "plan", ...(value && { value }) };
        return (await server?.send(method, "/store/items", item, { "x-user": of }))?.status ?? 0;
      };
      const stored = () => servers.query("SELECT key, value FROM store_items");
      const put = () => Promise.all(users.map(({ name }) => send("PUT", name, { of: name })));
      const answers = await servers.meetAt("store_items", 2, put);
      expect(answers.toSorted((one, other) => one - other)).toEqual([204, 404]);
      const [winner = "", loser = ""] = answers[0] === 204 ? ["ada", "bob"] : ["bob", "ada"];
      expect(await stored()).toEqual([{ key: "plan", value: JSON.stringify({ of: winner }) }]);
      // The owner deletes the item while the other user overwrites it: the one or the other comes first.
      const [deleted, overwritten] = await servers.meetAt("store_items", 2, () =>
        Promise.all([send("DELETE", winner), send("PUT", loser, { of: loser })]),
      );
      expect(deleted).toBe(204);
      expect(await stored()).toEqual(
        overwritten === 404 ? [] : [{ key: "plan", value: JSON.stringify({ of: loser }) }],
      );
    } finally {
      await rules.remove();
    }
  });

  it("create one thread for a namespace that has none", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const open = async (server: TestServer): Promise<unknown> =>
      await (await server.send("POST", "/namespaces/team/current", {})).json();
    const opened = await servers.meetAt("namespaces", 2, () => Promise.all([open(one), open(other)]));
    expect(opened[0]).toEqual(opened[1]);
    expect(await servers.query("SELECT session_id AS thread_id FROM sessions")).toMatchObject([
      { thread_id: expect.any(String) },
    ]);
  });

  it("keep the setting of an item that the other one gives it", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const put = (server: TestServer, given: object): Promise<Response> =>
      server.send("PUT", "/store/items", { namespace: ["notes"], key: "plan", value: {}, ...given });
    await put(one, {});
    await servers.meetAt("store_items", 2, () =>
      Promise.all([put(one, { ttl: 60, keep_settings: true }), put(other, { index: ["text"], keep_settings: true })]),
    );
    expect(await servers.query("SELECT ttl, indexed FROM store_items")).toEqual([{ ttl: 60, indexed: '["text"]' }]);
  });

  it.each(["an assistant", "the assistant of a graph, which has no row yet"])(
    "each make a version of %s",
    async (what) => {
      const [one, other] = [await servers.start(), await servers.start()];
      const { assistant_id } =
        what === "an assistant"
          ? await one.client.assistants.create({ graphId: "counter" })
          : await one.client.assistants.get("counter");
      const changed = await servers.meetAt("assistants", 2, () =>
        Promise.all([
          one.client.assistants.update(assistant_id, { metadata: { by: "one" } }),
          other.client.assistants.update(assistant_id, { metadata: { and: "other" } }),
        ]),
      );
      expect(changed.map(({ version }) => version).toSorted((left, right) => left - right)).toEqual([2, 3]);
      expect((await one.client.assistants.get(assistant_id)).metadata).toMatchObject({ by: "one", and: "other" });
    },
  );

  it("make one run of two with the same key", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    const body = { assistant_id: "counter", input: { value: 1 } };
    const post = async (server: TestServer): Promise<unknown> => {
      const headers = { "idempotency-key": "once" };
      return await (await server.send("POST", `/threads/${thread_id}/runs/wait`, body, headers)).json();
    };
    const values = await servers.meetAt("runs", 2, () => Promise.all([post(one), post(other)]));
    expect(values).toEqual([{ value: 2 }, { value: 2 }]);
    expect(await servers.query("SELECT attempt FROM runs")).toEqual([{ attempt: 1 }]);
  });

  it("answer a question once", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    await one.client.runs.wait(thread_id, "asker", { input: {} });
    const answer = async (server: TestServer, resume: string): Promise<number> => {
      const body = { assistant_id: "asker", command: { resume }, multitask_strategy: "enqueue" };
      return (await server.send("POST", `/threads/${thread_id}/runs/wait`, body)).status;
    };
    const statuses = await servers.meetAt("approvals", 2, () =>
      Promise.all([answer(one, "ada"), answer(other, "bob")]),
    );
    expect(statuses.toSorted((left, right) => left - right)).toEqual([200, 422]);
    const winner = statuses[0] === 200 ? "ada" : "bob";
    expect((await other.client.threads.getState(thread_id)).values).toMatchObject({ answer: winner });
    expect(await servers.query("SELECT FROM runs")).toHaveLength(2);
  });

  it("keep both changes of the metadata of a thread", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create({ metadata: { first: true } });
    await servers.meetAt("sessions", 2, () =>
      Promise.all([
        one.client.threads.update(thread_id, { metadata: { by: "one" } }),
        other.client.threads.update(thread_id, { metadata: { and: "other" } }),
      ]),
    );
    const { metadata } = await one.client.threads.get(thread_id);
    expect(metadata).toMatchObject({ first: true, by: "one", and: "other" });
  });

  it("index the same file of a workspace once", async () => {
    const [one, other] = [await servers.open(), await servers.open()];
    const put = (storage: OpenedStorage, text: string): Promise<void> => {
      const piece = { first_line: 1, last_line: 2, text, vector: Float32Array.of(1) };
      return storage.textIndex.put("index", [{ path: "a.md", stamp: text, hash: text, bytes: 1, pieces: [piece] }]);
    };
    await servers.meetAt("file_pieces", 2, () => Promise.all([put(one, "one"), put(other, "other")]));
    const query = { vector: Float32Array.of(1), path: null, limit: 10 };
    const [file] = await one.textIndex.files("index");
    expect(await one.textIndex.search("index", query, AbortSignal.timeout(60_000))).toMatchObject([
      { text: file?.hash },
    ]);
  });

  it("delete a run of a thread that the other server works on, and the thread stays readable", async () => {
    const [one, other] = [await servers.start(), await servers.start()];
    const { thread_id } = await one.client.threads.create();
    const begin = (gate: string) => one.client.runs.create(thread_id, "gated", { input: { gate } });
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    openGate(first);
    const former = await begin(first);
    await one.client.runs.join(thread_id, former.run_id);
    const run = await begin(second);
    await expect.poll(async () => (await other.client.threads.getState(thread_id)).next).toEqual(["wait"]);
    const deleted = other.client.runs.delete(thread_id, former.run_id);
    // It waits for the end of the run at work.
    const isHeld = () => servers.query("SELECT turn IS NOT NULL AS is_held FROM sessions");
    await expect.poll(isHeld).toEqual([{ is_held: true }]);
    openGate(second);
    await Promise.all([deleted, one.client.runs.join(thread_id, run.run_id)]);
    for (const { client } of [one, other]) {
      expect((await client.threads.getState(thread_id)).values).toEqual({ gate: second, passed: true });
      expect(await client.runs.list(thread_id)).toMatchObject([{ run_id: run.run_id, status: "success" }]);
    }
  });
});
