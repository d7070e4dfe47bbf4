import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ allowTruncate: true });
});
afterAll(() => server.remove());

const truncate = async (body: object): Promise<[number, string]> => {
  const response = await server.send("POST", "/internal/truncate", body);
  return [response.status, await response.text()];
};

describe("truncating", () => {
  let thread: string;
  beforeEach(async () => {
    await truncate({ threads: true, store: true, crons: true, assistants: true });
    const { client } = server;
    thread = (await client.threads.create()).thread_id;
    await client.runs.wait(thread, "counter", { input: { value: 1 } });
    await client.store.putItem(["n"], "k", {});
    await client.crons.create("counter", { schedule: "0 0 1 1 *" });
    await client.assistants.create({ graphId: "counter", name: "Made", ifExists: "do_nothing" });
  });
  /** The number of threads, runs, states, items, crons and created assistants. */
  async function left(): Promise<number[]> {
    const { client } = server;
    const threads = await client.threads.search();
    const runs = threads.length === 0 ? [] : await client.runs.list(thread);
    const states = threads.length === 0 ? [] : await client.threads.getHistory(thread);
    const { items } = await client.store.searchItems([]);
    const made = await client.assistants.count({ name: "Made" });
    return [threads.length, runs.length, Math.sign(states.length), items.length, await client.crons.count(), made];
  }

  it.each<[object, number[]]>([
    [{}, [1, 1, 1, 1, 1, 1]],
    [{ threads: true }, [0, 0, 0, 1, 1, 1]],
    [{ runs: true }, [1, 0, 0, 1, 1, 1]],
    [{ checkpointer: true }, [1, 1, 0, 1, 1, 1]],
    [{ store: true }, [1, 1, 1, 0, 1, 1]],
    [{ crons: true }, [1, 1, 1, 1, 0, 1]],
    [{ assistants: true }, [1, 1, 1, 1, 1, 0]],
    [{ runs: true, threads: true, assistants: true, checkpointer: true, store: true, crons: true }, [0, 0, 0, 0, 0, 0]],
  ])("%j leaves %j", async (body, expected) => {
    expect(await truncate(body)).toEqual([200, '{"ok":true}']);
    expect(await left()).toEqual(expected);
    const ofSystem = { graphId: "counter", metadata: { created_by: "system" } };
    expect(await server.client.assistants.count(ofSystem)).toBe(1);
  });

  it("POST /internal/truncate 200: active runs are stopped first", async () => {
    await server.client.runs.create(thread, "gated", { input: { gate: "never" } });
    await truncate({ threads: true });
    expect(await left()).toEqual([0, 0, 0, 1, 1, 1]);
  });

  it("POST /internal/truncate 400: a value that is no boolean", async () => {
    expect((await truncate({ threads: "all" }))[0]).toBe(400);
  });
});

describe("a server without MILLRACE_ALLOW_TRUNCATE", () => {
  it("POST /internal/truncate 404: an unknown route", async () => {
    const other = await startTestServer();
    const response = await other.send("POST", "/internal/truncate", { threads: true });
    expect([response.status, await response.text()]).toEqual([404, "404 Not Found"]);
    await other.remove();
  });
});

describe("with keys", () => {
  it("needs a key, and deletes only the caller's records", async () => {
    const keyed = await startTestServer({
      allowTruncate: true,
      apiKeys: ["ada", "bob"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    });
    const as = (owner: string, path: string, body: object): Promise<Response> =>
      keyed.send("POST", path, body, { "x-api-key": `key-of-${owner}` });
    for (const owner of ["ada", "bob"]) {
      await as(owner, "/threads", {});
      await as(owner, "/runs/crons", { assistant_id: "counter", schedule: "0 0 1 1 *" });
      await as(owner, "/runs/wait", { assistant_id: "keeper", input: { note: "x" } });
    }
    expect((await as("eve", "/internal/truncate", { threads: true })).status).toBe(401);
    expect((await as("ada", "/internal/truncate", { threads: true, store: true, crons: true })).status).toBe(200);
    const counts = async (owner: string): Promise<unknown[]> => [
      await (await as(owner, "/threads/count", { status: "idle" })).json(),
      await (await as(owner, "/runs/crons/count", {})).json(),
      await (await as(owner, "/store/namespaces", {})).json(),
    ];
    expect(await counts("ada")).toEqual([0, 0, { namespaces: [] }]);
    expect(await counts("bob")).toEqual([expect.any(Number), 1, { namespaces: [["notes", "kept"]] }]);
    expect((await counts("bob"))[0]).toBeGreaterThan(0);
    await keyed.remove();
  });
});
