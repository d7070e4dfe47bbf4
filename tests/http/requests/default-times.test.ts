import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const minute = 60_000;
const Timed = z.looseObject({
  thread_id: z.string(),
  ttl: z.looseObject({ ttl_minutes: z.number(), strategy: z.string() }).optional(),
});

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-times-"));
  const file = fileURLToPath(new URL("../../support/test-graphs.ts", import.meta.url));
  const manifest = {
    graphs: { keeper: `${file}:keeper` },
    store: { ttl: { default_ttl: 10, refresh_on_read: false, sweep_interval_minutes: 1 } },
    checkpointer: { ttl: { default_ttl: 20, strategy: "keep_latest", sweep_interval_minutes: 1 } },
  };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify(manifest));
  server = await startTestServer({ graphs: join(folder, "langgraph.json") });
});
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

const later = (minutes: number): void =>
  void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutes * minute });

test("new items, also those of graphs, have the TTL of store.ttl unless they have their own", async () => {
  const { store, runs } = server.client;
  await store.putItem(["n"], "usual", {});
  await store.putItem(["n"], "short", {}, { ttl: 5 });
  await store.putItem(["n"], "for ever", {}, { ttl: null });
  await runs.wait(null, "keeper", { input: { note: "of a graph" } });
  const kept = { namespace: ["n"], key: "for ever", value: { a: 1 }, keep_settings: true };
  expect((await server.send("PUT", "/store/items", kept)).status).toBe(204);
  const left = async (): Promise<string[]> =>
    (await store.searchItems([])).items.map(({ key }) => key).toSorted((one, other) => one.localeCompare(other));
  later(6);
  expect(await left()).toEqual(["for ever", "of a graph", "usual"]);
  // A read restarts no TTL here, unless the request says so.
  await store.getItem(["n"], "usual", { refreshTtl: true });
  later(6);
  expect(await left()).toEqual(["for ever", "usual"]);
});

test("new threads have the TTL of checkpointer.ttl, unless they have their own, or none", async () => {
  const made = async (body: object): Promise<unknown> => {
    const { thread_id } = Timed.parse(await (await server.send("POST", "/threads", body)).json());
    const { ttl } = Timed.parse(await (await server.send("GET", `/threads/${thread_id}?include=ttl`)).json());
    return ttl;
  };
  expect(await made({})).toMatchObject({ ttl_minutes: 20, strategy: "keep_latest" });
  expect(await made({ ttl: 30 })).toMatchObject({ ttl_minutes: 30, strategy: "delete" });
  expect(await made({ ttl: null })).toBeUndefined();
});
