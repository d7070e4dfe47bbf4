import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { describedRoutes, type DescribedRoute, type Schema } from "./described-routes.ts";

/** Requests; S5 in reliability.md has 5,000. */
const requests = Number(process.env["FUZZ"] ?? 500);
const seed = Number(process.env["SEED"] ?? Date.now() % 100_000);
/** Milliseconds no request may take. */
const slowest = 2000;

let server: TestServer;
let routes: DescribedRoute[];
let schemas: Record<string, Schema>;
const known: string[] = [];
beforeAll(async () => {
  server = await startTestServer();
  ({ routes, schemas } = await describedRoutes(server));
  const threads = await Promise.all([1, 2, 3].map(() => server.client.threads.create()));
  for (const { thread_id } of threads) {
    await server.client.runs.wait(thread_id, "talker", { input: { messages: [{ role: "user", content: "hello" }] } });
    const [run] = await server.client.runs.list(thread_id);
    const { checkpoint } = await server.client.threads.getState(thread_id);
    known.push(thread_id, run?.run_id ?? "", checkpoint.checkpoint_id ?? "");
  }
});
afterAll(() => server.remove());

/** Values that break programs: types, sizes, names of prototypes, odd characters. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1e308,
    2 ** 53,
    "",
    " ",
    "null",
    "__proto__",
    "constructor",
    "../..",
    "\u0000",
    "\ud800",
  ),
  fc.constantFrom<unknown>(
    { __proto__: null },
    [[[[]]]],
    { constructor: { prototype: {} } },
    JSON.parse('{"__proto__":{"x":1}}'),
  ),
  fc.constantFrom<unknown>(
    { $: ["m", 1] },
    { lc: 1, type: "constructor", id: ["x"], kwargs: {} },
    "%00",
    "a".repeat(5000),
  ),
  fc.string({ unit: "binary" }),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Assistants whose runs end; `gated` waits for a door. */
const assistants = ["counter", "talker", "asker", "failing", "nested", "mirror", "nobody"];

/** What a name says about its value beyond the schema. */
function named(name: string): fc.Arbitrary<unknown> | undefined {
  if (name === "assistant_id" || name === "graph_id") return fc.constantFrom(...assistants);
  // A run that begins later would only make its reader wait.
  if (name === "after_seconds") return fc.constantFrom<unknown>(0, null, -1, "soon");
  return name.endsWith("_id") ? fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, fc.uuid()) : undefined;
}

function list(value: unknown): Schema[] {
  // The document is JSON, so what a schema's list holds are schemas.
  return Array.isArray(value) ? (value as Schema[]) : [];
}

/** Values that a schema describes, and now and then some that it does not. */
function valueOf(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: described(schema, depth) }, { weight: 1, arbitrary: odd });
}

function described(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const reference = schema["$ref"];
  if (typeof reference === "string") return described(schemas[reference.split("/").at(-1) ?? ""] ?? {}, depth - 1);
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(schema["enum"])) return fc.constantFrom<unknown>(...schema["enum"]);
  const choices = [...list(schema["anyOf"]), ...list(schema["oneOf"])];
  if (choices.length > 0) return fc.oneof(...choices.map((choice) => described(choice, depth - 1)));
  const types = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
  return fc.constantFrom<unknown>(...types).chain((type) => typed(type, schema, depth));
}

function typed(type: unknown, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  switch (type) {
    case "string":
      return fc.oneof(fc.string(), fc.constantFrom(...known), fc.constantFrom("values", "updates", "messages"));
    case "integer":
      return fc.oneof(fc.integer({ min: -2, max: 50 }), fc.maxSafeInteger());
    case "number":
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array": {
      // `items` of a list in JSON Schema is a schema.
      const items = (schema["items"] ?? {}) as Schema;
      return depth <= 0 ? fc.constant([]) : fc.array(valueOf(items, depth - 1), { maxLength: 4 });
    }
    case "object": {
      // `properties` in JSON Schema is a table of schemas.
      const properties = Object.entries((schema["properties"] ?? {}) as Record<string, Schema>);
      if (depth <= 0 || properties.length === 0) return fc.dictionary(fc.string(), odd, { maxKeys: 3 });
      const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
      const fields = properties.map(([name, field]) => [name, named(name) ?? valueOf(field, depth - 1)] as const);
      return fc.record(Object.fromEntries(fields), { requiredKeys: required });
    }
    default:
      return odd;
  }
}

interface Attempt {
  route: DescribedRoute;
  path: string;
  body: string | undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A path segment as fetch sends it; a lone surrogate has no encoding. */
function encoded(value: unknown): string {
  return encodeURIComponent(textOf(value).toWellFormed().slice(0, 500)) || "-";
}

function attempts(): fc.Arbitrary<Attempt> {
  return fc.constantFrom(...routes).chain((route) => {
    const values = route.parameters.map(({ name, schema }) =>
      fc.oneof({ weight: 4, arbitrary: named(name) ?? valueOf(schema, 2) }, { weight: 1, arbitrary: odd }),
    );
    const asQuery = fc.array(fc.boolean(), { minLength: values.length, maxLength: values.length });
    const json = valueOf(route.body ?? {}, 4).map((value) => JSON.stringify(value) ?? "");
    const broken = fc.tuple(json, fc.nat(), fc.string()).map(([text, at, extra]) => {
      const place = text.length === 0 ? 0 : at % text.length;
      return text.slice(0, place) + extra + text.slice(place + 1);
    });
    const body =
      route.method === "GET"
        ? fc.constant(undefined)
        : fc.oneof({ weight: 8, arbitrary: json }, { weight: 1, arbitrary: broken });
    return fc.tuple(fc.tuple(...values), asQuery, body).map(([given, used, text]) => {
      let { path } = route;
      const query: string[] = [];
      route.parameters.forEach(({ in: where, name }, index) => {
        if (where === "path") path = path.replace(`{${name}}`, encoded(given[index]));
        else if (where === "query" && used[index] === true) query.push(`${name}=${encoded(given[index])}`);
      });
      return { route, path: query.length === 0 ? path : `${path}?${query.join("&")}`, body: text };
    });
  });
}

test(
  `${requests} requests made from our own /openapi.json: no 5xx, none over 2 s (seed ${seed})`,
  { timeout: 600_000 },
  async () => {
    const statuses = new Map<number, number>();
    let longest = 0;
    const property = fc.asyncProperty(attempts(), async ({ route, path, body }) => {
      const started = performance.now();
      const response = await fetch(`${server.url}${path}`, {
        method: route.method,
        headers: { "content-type": "application/json" },
        signal: AbortSignal.timeout(20_000),
        ...(body !== undefined && { body: body.toWellFormed() }),
      });
      const text = await response.text();
      const took = performance.now() - started;
      longest = Math.max(longest, took);
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      expect(response.status, `${route.method} ${path}: ${text.slice(0, 300)}`).toBeLessThan(500);
      expect(took, `${route.method} ${path}`).toBeLessThan(slowest);
    });
    await fc.assert(property, { numRuns: requests, seed, endOnFailure: true });
    const counts = [...statuses]
      .toSorted(([left], [right]) => left - right)
      .map(([status, count]) => `${count} x ${status}`);
    process.stdout.write(`${requests} requests: ${counts.join(", ")}; longest ${longest.toFixed(0)} ms\n`);
    expect((await server.send("GET", "/ok")).status).toBe(200);
    expect(Object.keys(Object.prototype)).toEqual([]);
    // Most requests have to mean something, or the generator is worth nothing.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(requests / 10);
  },
);
