import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { filesBelow, readSource, sourceFiles } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const Security = z.array(z.record(z.string(), z.array(z.string())));
const Operation = z.looseObject({
  summary: z.string(),
  security: Security.optional(),
  tags: z.array(z.string()).nonempty(),
  parameters: z.array(z.looseObject({ in: z.string(), name: z.string() })).optional(),
  requestBody: z.looseObject({ content: z.record(z.string(), z.looseObject({})) }).optional(),
  responses: z.record(z.string(), z.looseObject({})),
});
const OpenApi = z.looseObject({
  openapi: z.literal("3.1.0"),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  servers: z.array(z.looseObject({ url: z.string() })).nonempty(),
  security: Security,
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});

let server: TestServer;
let text: string;
let document: z.infer<typeof OpenApi>;
beforeAll(async () => {
  // With every optional route.
  server = await startTestServer({ allowTruncate: true });
  text = await (await server.send("GET", "/openapi.json")).text();
  document = OpenApi.parse(JSON.parse(text));
});
afterAll(() => server.remove());

test("every route is described", () => {
  const folders = /^(src\/http|packages\/engine\/src\/http|toolkits\/[^/]+)\/(routes|openai)\//;
  const sources = sourceFiles()
    .filter((path) => folders.test(path))
    .map((path) => readSource(path).text);
  const written = sources.flatMap((source) =>
    [...source.matchAll(/routes\.(get|post|patch|put|delete)\(\s*"([^"]+)"/g)].map(
      ([, method, path]) => `${method} ${path?.replace(/:(\w+)/g, "{$1}")}`,
    ),
  );
  const described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  );
  expect(written.length).toBeGreaterThan(30);
  expect(described.toSorted()).toEqual(written.toSorted());
});

test("every parameter of a path is described and every reference resolves", () => {
  for (const [path, operations] of Object.entries(document.paths)) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name));
    for (const operation of Object.values(operations)) {
      const described = (operation.parameters ?? []).filter((one) => one.in === "path").map((one) => one.name);
      expect(described.toSorted()).toEqual(names.toSorted());
    }
  }
  const named = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name ?? "");
  expect(named).not.toEqual([]);
  for (const name of named) expect(document.components.schemas).toHaveProperty(name);
});

test("types can be generated: each schema has a name of ours, and each operation has its error responses", () => {
  // Zod names a recursive schema by a number, and two of those would be merged.
  expect(Object.keys(document.components.schemas).filter((name) => name.startsWith("__"))).toEqual([]);
  const silent = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.values(operations).flatMap(({ responses }) =>
      Object.keys(responses).some((status) => /^4\d\d$/u.test(status)) ? [] : [path],
    ),
  );
  expect(silent).toEqual([]);
});

test("the description says correctly whether an operation needs a key", async () => {
  expect(document.security).toEqual([{}, { ApiKey: [] }]);
  const locked = await startTestServer({ apiKeys: [{ owner: "ann", key: "key-of-ann" }] });
  try {
    const described = OpenApi.parse(await (await locked.send("GET", "/openapi.json")).json());
    expect(described.security).toEqual([{ ApiKey: [] }]);
    const plain = Object.entries(described.paths).filter(([path, { get }]) => get !== undefined && !path.includes("{"));
    expect(plain.length).toBeGreaterThan(30);
    for (const [path, { get }] of plain) {
      const { status } = await locked.send("GET", path);
      expect(status === 401, path).toBe(get?.security === undefined);
    }
  } finally {
    await locked.remove();
  }
});

test("a run's body is described by the schema that validates it, with its modes", () => {
  const body = JSON.stringify(document.paths["/runs/wait"]?.["post"]?.requestBody);
  expect(body).toContain("RunCreate");
  expect(JSON.stringify(document.components.schemas["RunCreate"])).toContain("messages-tuple");
});

test("headers are described where they are read and sent", () => {
  const withHeader = (name: string): string[] =>
    Object.entries(document.paths).flatMap(([path, operations]) =>
      // The routes below /api are those of toolkits, whose own tests check this.
      Object.values(path.startsWith("/api/") ? {} : operations).flatMap(({ parameters }) =>
        (parameters ?? []).some((one) => one.in === "header" && one.name === name) ? [path] : [],
      ),
    );
  const kinds = ["", "/stream", "/wait"];
  const starting = ["/runs", "/threads/{thread_id}/runs"].flatMap((path) => kinds.map((kind) => path + kind));
  const repeatable = [
    ...starting,
    "/runs/batch",
    "/threads/{thread_id}/commands",
    "/threads/{thread_id}/compress",
    "/threads/{thread_id}/messages/{message_id}/rerun",
    "/threads/{thread_id}/partial/continue",
    "/threads/{thread_id}/partial/regenerate",
    "/threads/{thread_id}/suggestions/{suggestion_id}",
    "/threads/{thread_id}/tools/{name}/run",
    "/v1/chat/completions",
    "/v1/responses",
    "/a2a/{assistant_id}",
  ];
  expect(withHeader("Idempotency-Key").toSorted()).toEqual(repeatable.toSorted());
  const joined = [
    "/mcp",
    "/feed",
    "/namespaces/{namespace}/stream",
    "/threads/{thread_id}/stream",
    "/threads/{thread_id}/stream/events",
    "/threads/{thread_id}/runs/{run_id}/stream",
    "/threads/{thread_id}/runs/{run_id}/trace",
    "/runs/{run_id}/stream",
    "/a2a/{assistant_id}",
  ];
  expect(withHeader("Last-Event-ID").toSorted()).toEqual(joined.toSorted());
  const started = document.paths["/threads/{thread_id}/runs"]?.["post"]?.responses["200"];
  expect(started).toHaveProperty(["headers", "X-Queue-Position"]);
  expect(JSON.stringify(document.paths["/runs/stream"]?.["post"]?.responses["200"])).toContain("`gap`");
});

test("invalid values are described as they are answered", () => {
  expect(JSON.stringify(document.paths["/threads"]?.["post"]?.responses["400"])).toContain("ZodError");
});

test("the page at /docs has no script and no style in it, and is the only page beside the console (SEC-06)", async () => {
  const answer = await server.send("GET", "/docs");
  expect(answer.headers.get("content-type")).toMatch(/^text\/html/);
  const page = await answer.text();
  const scripts = [...page.matchAll(/<script\b[^>]*>([^]*?)<\/script>/g)];
  expect(scripts.length).toBeGreaterThan(0);
  expect(scripts.map(([, inside]) => inside)).toEqual(scripts.map(() => ""));
  expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i);
  const folders = ["src/http", "packages/engine/src/http"];
  const pages = folders
    .flatMap((folder) => filesBelow(folder))
    .filter((path) => /\.html\(|text\/html/.test(readSource(path).text));
  // Elements by which a foreign page loads an interface are no page (tests/http/clients/ui.test.ts).
  expect(pages).toEqual([
    "src/http/console/console-routes.ts",
    "packages/engine/src/http/describe.ts",
    "packages/engine/src/http/routes/assistants/meta.ts",
  ]);
});

test("the page at /docs loads nothing from other hosts", async () => {
  const page = await (await server.send("GET", "/docs")).text();
  expect(page).not.toMatch(/https?:\/\//);
  const assets = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path ?? "");
  expect(assets).not.toEqual([]);
  for (const path of assets) {
    const asset = await server.send("GET", path);
    expect(asset.status).toBe(200);
    expect((await asset.arrayBuffer()).byteLength).toBeGreaterThan(0);
  }
  expect((await server.send("GET", "/docs/package.json")).status).toBe(404);
});
