import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer;
let threadId: string;
let cronId: string;
beforeAll(async () => {
  server = await startTestServer();
  ({ thread_id: threadId } = await server.client.threads.create());
  const made = await server.send("POST", "/runs/crons", { assistant_id: "counter", schedule: yearly });
  cronId = z.object({ cron_id: z.string() }).parse(await made.json()).cron_id;
});
afterAll(() => server.remove());

const yearly = "0 0 1 1 *";
const missing = "0192d1c4-7d5e-7000-8000-00000000dead";
const namespace = ["wire", crypto.randomUUID()];
const place = `namespace=${namespace.join(".")}&key=k`;
const item = { namespace, key: "k", value: { kind: "note" } };
const wrongLabel = expect.stringContaining("Namespace labels cannot be empty or contain periods");
const send = async (method: string, path: string, body?: unknown): Promise<[number, unknown]> => {
  const response = await server.send(method, path, body);
  const text = await response.text();
  return [response.status, response.headers.get("content-type")?.includes("json") === true ? JSON.parse(text) : text];
};
const invalid = expect.objectContaining({ success: false });

/** In order: each request sees the results of those before it. */
test.each([
  ["PUT /store/items 204", "PUT", "/store/items", item, ""],
  ["PUT /store/items 400", "PUT", "/store/items", { ...item, value: 1 }, invalid],
  ["PUT /store/items 422", "PUT", "/store/items", { ...item, namespace: ["a.b"] }, wrongLabel],
  ["GET /store/items 200", "GET", `/store/items?${place}`, undefined, expect.objectContaining(item)],
  ["GET /store/items 200: null for what is not there", "GET", "/store/items?namespace=wire&key=none", undefined, null],
  ["GET /store/items 400", "GET", "/store/items?namespace=wire", undefined, invalid],
  [
    "POST /store/items/search 200",
    "POST",
    "/store/items/search",
    { namespace_prefix: namespace, filter: { kind: "note" } },
    { items: [expect.objectContaining(item)] },
  ],
  ["POST /store/items/search 400", "POST", "/store/items/search", { limit: 0 }, invalid],
  ["POST /store/items/search 422", "POST", "/store/items/search", { namespace_prefix: [""] }, wrongLabel],
  ["POST /store/namespaces 200", "POST", "/store/namespaces", { prefix: ["wire"] }, { namespaces: [namespace] }],
  ["POST /store/namespaces 400", "POST", "/store/namespaces", { max_depth: 0 }, invalid],
  ["POST /store/namespaces 422", "POST", "/store/namespaces", { prefix: [""] }, wrongLabel],
  ["DELETE /store/items 400", "DELETE", "/store/items", { namespace }, invalid],
  ["DELETE /store/items 422", "DELETE", "/store/items", { namespace: ["a.b"], key: "k" }, wrongLabel],
  ["DELETE /store/items 204", "DELETE", "/store/items", { namespace, key: "k" }, ""],
] as const)("%s", async (title, method, path, body, expected) => {
  expect(await send(method, path, body)).toEqual([Number(/ (\d{3})/u.exec(title)?.[1]), expected]);
});

const cron = { assistant_id: "counter", schedule: yearly };
const aCron = expect.objectContaining({ schedule: yearly, next_run_date: expect.any(String), enabled: true });

test.each([
  ["POST /runs/crons 200", "POST", "/runs/crons", cron, aCron],
  ["POST /runs/crons 400", "POST", "/runs/crons", { assistant_id: "counter", schedule: "sometimes" }, invalid],
  ["POST /runs/crons 404", "POST", "/runs/crons", { ...cron, assistant_id: "unknown" }, expect.any(String)],
  ["POST /threads/:thread_id/runs/crons 200", "POST", "/threads/{thread}/runs/crons", cron, aCron],
  ["POST /threads/:thread_id/runs/crons 400", "POST", "/threads/{thread}/runs/crons", {}, invalid],
  ["POST /threads/:thread_id/runs/crons 404", "POST", "/threads/{missing}/runs/crons", cron, expect.any(String)],
  ["POST /runs/crons/search 200", "POST", "/runs/crons/search", {}, expect.arrayContaining([aCron])],
  ["POST /runs/crons/search 400", "POST", "/runs/crons/search", { limit: 0 }, invalid],
  ["POST /runs/crons/count 200", "POST", "/runs/crons/count", {}, 3],
  ["POST /runs/crons/count 400", "POST", "/runs/crons/count", { metadata: 1 }, invalid],
  ["PATCH /runs/crons/:cron_id 200", "PATCH", "/runs/crons/{cron}", { metadata: { a: 1 } }, aCron],
  ["PATCH /runs/crons/:cron_id 400", "PATCH", "/runs/crons/{cron}", { schedule: "sometimes" }, invalid],
  ["PATCH /runs/crons/:cron_id 404", "PATCH", "/runs/crons/{missing}", {}, expect.any(String)],
  ["DELETE /runs/crons/:cron_id 400", "DELETE", "/runs/crons/no-uuid", undefined, invalid],
  ["DELETE /runs/crons/:cron_id 404", "DELETE", "/runs/crons/{missing}", undefined, expect.any(String)],
  ["DELETE /runs/crons/:cron_id 204", "DELETE", "/runs/crons/{cron}", undefined, ""],
] as const)("%s", async (title, method, path, body, expected) => {
  const places: Record<string, string> = { thread: threadId, cron: cronId, missing };
  const at = path.replace(/\{(\w+)\}/u, (_, name: string) => places[name] ?? "");
  expect(await send(method, at, body)).toEqual([Number(/ (\d{3})/u.exec(title)?.[1]), expected]);
});
