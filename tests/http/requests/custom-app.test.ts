import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Config } from "@millrace/engine/config/config";
import { createLogger, type Logger } from "@millrace/engine/logger";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const fixtures = join(import.meta.dirname, "..", "..", "fixtures", "graphs");
let folder: string;
let server: TestServer | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-custom-"));
});
afterEach(() => server?.remove());
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A server with a manifest of its own beside the fixtures' graphs. */
async function serve(manifest: object, changes: Partial<Config> = {}, logger?: Logger): Promise<TestServer> {
  const path = join(folder, `${crypto.randomUUID()}.json`);
  const graphs = { state_schema: join(fixtures, "state-schema.ts:graph") };
  await writeFile(path, JSON.stringify({ graphs, ...manifest }));
  server = await startTestServer({ graphs: path, ...changes }, logger);
  return server;
}

const http = { app: join(fixtures, "http-app.ts:app") };

describe("http.app of a langgraph.json", () => {
  it("has its own routes before the server's, and middleware around both", async () => {
    const own = await serve({ http });
    const hello = await own.send("GET", "/custom/hello", undefined, { "x-name": "Ada" });
    expect([hello.status, await hello.json(), hello.headers.get("x-custom")]).toEqual([200, { hello: "Ada" }, "seen"]);
    expect(await (await own.send("GET", "/ok")).json()).toEqual({ ok: "custom" });
    const ours = await own.send("POST", "/assistants/count", {});
    expect([await ours.json(), ours.headers.get("x-custom")]).toEqual([1, "seen"]);
    const closed = await own.send("POST", "/threads?closed", {});
    expect([closed.status, await closed.json()]).toEqual([503, { closed: true }]);
    const error = await own.send("GET", "/custom/error");
    expect([error.status, await error.text()]).toEqual([418, "short and stout"]);
    expect((await own.send("GET", "/custom/none")).status).toBe(404);
  });

  it("may accept forms, which the server's own routes refuse", async () => {
    const { url } = await serve({ http });
    const form = (path: string) => fetch(`${url}${path}`, { method: "POST", body: new URLSearchParams({ a: "1" }) });
    expect(await (await form("/custom/form")).json()).toEqual({ a: "1" });
    expect((await form("/threads")).status).toBe(415);
  });

  it("calls its own server by the SDK, and writes to its log", async () => {
    const lines: unknown[] = [];
    const logger = createLogger("info", { write: (line: string) => lines.push(JSON.parse(line)) });
    const own = await serve({ http, env: { FIXTURE_GREETING: "from inside" } }, {}, logger);
    const answer: unknown = await (await own.send("GET", "/custom/run")).json();
    expect(answer).toMatchObject({ seen: [expect.any(String)], messages: [{}] });
    expect(lines).toContainEqual(expect.objectContaining({ msg: "a custom route runs a graph", route: "/custom/run" }));
  });

  it("is behind the server's origin check and its keys", async () => {
    const own = await serve({ http }, { apiKeys: [{ owner: "ada", key: "key-of-ada" }] });
    expect((await own.send("GET", "/custom/hello")).status).toBe(401);
    expect((await own.send("GET", "/custom/hello", undefined, { "x-api-key": "key-of-ada" })).status).toBe(200);
    const foreign = { "x-api-key": "key-of-ada", origin: "https://evil.example" };
    expect((await own.send("GET", "/custom/hello", undefined, foreign)).status).toBe(403);
  });

  it.each([
    ["is no Hono app", { app: join(fixtures, "asking.ts:graph") }, /no Hono app/u],
    ["does not exist", { app: "./nowhere.ts:app" }, /There is no file .*nowhere\.ts/u],
    ["exports something else", { app: join(fixtures, "http-app.ts:other") }, /exports app, not other/u],
  ])("keeps the server from starting when it %s", async (_name, wrong, message) => {
    await expect(serve({ http: wrong })).rejects.toMatchObject({
      code: "config",
      message: expect.stringMatching(message),
    });
  });
});

describe("http.cors of a langgraph.json", () => {
  const cors = {
    allow_origins: ["https://chat.example"],
    allow_origin_regex: "https://[a-z]+\\.ours\\.example",
    allow_methods: ["GET", "POST"],
    allow_headers: ["x-team"],
    allow_credentials: true,
    expose_headers: ["x-custom"],
    max_age: 600,
  };

  it.each([
    ["https://chat.example", 200],
    ["https://dev.ours.example", 200],
    ["https://smith.langchain.com", 200],
    ["https://dev.ours.example.evil.example", 403],
    ["https://evil.example", 403],
  ])("answers pages of %s by its settings", async (origin, status) => {
    const own = await serve({ http: { ...http, cors } });
    const answer = await own.send("GET", "/custom/hello", undefined, { origin });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("access-control-allow-origin")).toBe(status === 200 ? origin : null);
  });

  it("sets the CORS headers", async () => {
    const own = await serve({ http: { cors } });
    const origin = "https://chat.example";
    const preflight = await own.send("OPTIONS", "/threads", undefined, {
      origin,
      "access-control-request-headers": "a, b",
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": "x-team",
      "access-control-allow-credentials": "true",
      "access-control-max-age": "600",
    });
    const exposed = preflight.headers.get("access-control-expose-headers")?.toLowerCase().split(", ");
    expect(exposed).toEqual(expect.arrayContaining(["content-location", "x-pagination-total", "x-custom"]));
  });

  it("never allows credentials for origins that only * allows", async () => {
    const all = { allow_origins: ["*", "https://chat.example"], allow_credentials: true };
    const own = await serve({ http: { cors: all } });
    for (const [origin, credentials] of [
      ["https://chat.example", "true"],
      ["https://evil.example", null],
    ] as const) {
      for (const [method, path, status] of [
        ["GET", "/ok", 200],
        ["OPTIONS", "/threads", 204],
      ] as const) {
        const answer = await own.send(method, path, undefined, { origin });
        expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([status, origin]);
        expect(answer.headers.get("access-control-allow-credentials")).toBe(credentials);
      }
    }
  });

  it("keeps the server from starting if its pattern is invalid", async () => {
    await expect(serve({ http: { cors: { allow_origin_regex: "(" } } })).rejects.toMatchObject({ code: "config" });
  });
});

describe("what a langgraph.json disables", () => {
  it.each([
    ["assistants", "POST", "/assistants/search"],
    ["threads", "POST", "/threads"],
    ["runs", "POST", "/runs/wait"],
    ["runs", "POST", "/threads/0192d1c4-7d5e-7000-8000-000000000001/runs/wait"],
    ["runs", "POST", "/threads/0192d1c4-7d5e-7000-8000-000000000001/commands"],
    ["store", "POST", "/store/items/search"],
    ["meta", "GET", "/info"],
    ["a2a", "POST", "/a2a/agent"],
    ["a2a", "GET", "/.well-known/agent-card.json?assistant_id=agent"],
    ["a2a", "GET", "/a2a/agent/.well-known/agent-card.json"],
    ["openai", "GET", "/v1/models"],
    ["openai", "POST", "/v1/responses"],
  ])("is 404: %s", async (resource, method, path) => {
    const own = await serve({ http: { [`disable_${resource}`]: true } });
    const answer = await own.send(method, path, method === "GET" ? undefined : {});
    expect([answer.status, await answer.text()]).toEqual([404, "404 Not Found"]);
    const other = resource === "assistants" ? "/threads/search" : "/assistants/search";
    expect((await own.send("POST", other, {})).status).toBe(200);
  });
});
