import fc from "fast-check";
import type { DescribedRoute, Schema } from "./described-routes.ts";

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

/** What the requests are made of. */
export interface FuzzSource {
  routes: DescribedRoute[];
  /** The schemas that routes refer to by name. */
  schemas: Record<string, Schema>;
  /** Ids that the server has. */
  known: string[];
  /** Assistants whose runs end by themselves. */
  assistants: string[];
}

/** What a name says about its value beyond the schema. */
function named({ known, assistants }: FuzzSource, name: string): fc.Arbitrary<unknown> | undefined {
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
function valueOf(from: FuzzSource, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: described(from, schema, depth) }, { weight: 1, arbitrary: odd });
}

function described(from: FuzzSource, schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const reference = schema["$ref"];
  if (typeof reference === "string")
    return described(from, from.schemas[reference.split("/").at(-1) ?? ""] ?? {}, depth - 1);
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(schema["enum"])) return fc.constantFrom<unknown>(...schema["enum"]);
  const choices = [...list(schema["anyOf"]), ...list(schema["oneOf"])];
  if (choices.length > 0) return fc.oneof(...choices.map((choice) => described(from, choice, depth - 1)));
  const types = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
  return fc.constantFrom<unknown>(...types).chain((type) => typed(from, { type, schema }, depth));
}

function typed(
  from: FuzzSource,
  { type, schema }: { type: unknown; schema: Schema },
  depth: number,
): fc.Arbitrary<unknown> {
  switch (type) {
    case "string":
      return fc.oneof(fc.string(), fc.constantFrom(...from.known), fc.constantFrom("values", "updates", "messages"));
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
      return depth <= 0 ? fc.constant([]) : fc.array(valueOf(from, items, depth - 1), { maxLength: 4 });
    }
    case "object": {
      // `properties` in JSON Schema is a table of schemas.
      const properties = Object.entries((schema["properties"] ?? {}) as Record<string, Schema>);
      if (depth <= 0 || properties.length === 0) return fc.dictionary(fc.string(), odd, { maxKeys: 3 });
      const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
      const fields = properties.map(
        ([name, field]) => [name, named(from, name) ?? valueOf(from, field, depth - 1)] as const,
      );
      return fc.record(Object.fromEntries(fields), { requiredKeys: required });
    }
    default:
      return odd;
  }
}

/** One request: a described route with its parameters filled in. */
export interface FuzzRequest {
  route: DescribedRoute;
  path: string;
  body: Uint8Array<ArrayBuffer> | undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A path segment as fetch sends it; a lone surrogate has no encoding. */
function encoded(value: unknown): string {
  return encodeURIComponent(textOf(value).toWellFormed().slice(0, 500)) || "-";
}

function encodeText(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** Changes bytes at places, wherever that falls in a character. */
function mutate(
  bytes: Uint8Array<ArrayBuffer>,
  changes: readonly [place: number, by: number][],
): Uint8Array<ArrayBuffer> {
  for (const [place, by] of changes) {
    const at = bytes.length === 0 ? 0 : place % bytes.length;
    if (at < bytes.length) bytes[at] = (bytes[at] ?? 0) ^ by;
  }
  return bytes;
}

/** What clones a repository from another machine: no test asks another machine for anything. */
function leavesTheMachine({ method, path }: DescribedRoute): boolean {
  return method === "POST" && path.startsWith("/library-docs");
}

/**
 * Requests to all described routes that do without the network: most as the schemas say, some with odd values, some with
 * broken bytes (reliability S5).
 */
export function fuzzRequests(from: FuzzSource): fc.Arbitrary<FuzzRequest> {
  const routes = from.routes.filter((route) => !leavesTheMachine(route));
  return fc.constantFrom(...routes).chain((route) => {
    const values = route.parameters.map(({ name, schema }) =>
      fc.oneof({ weight: 4, arbitrary: named(from, name) ?? valueOf(from, schema, 2) }, { weight: 1, arbitrary: odd }),
    );
    const asQuery = fc.array(fc.boolean(), { minLength: values.length, maxLength: values.length });
    const json = valueOf(from, route.body ?? {}, 4).map((value) => JSON.stringify(value) ?? "");
    const broken = fc.tuple(json, fc.nat(), fc.string()).map(([text, at, extra]) => {
      const place = text.length === 0 ? 0 : at % text.length;
      return text.slice(0, place) + extra + text.slice(place + 1);
    });
    const sound = fc.oneof({ weight: 8, arbitrary: json }, { weight: 1, arbitrary: broken }).map(encodeText);
    const bytes = fc.tuple(json, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { maxLength: 4 }));
    const mutated = bytes.map(([text, changes]) => mutate(encodeText(text), changes));
    const body =
      route.method === "GET"
        ? fc.constant(undefined)
        : fc.oneof({ weight: 9, arbitrary: sound }, { weight: 1, arbitrary: mutated });
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

const endlessPaths = new Set([
  "/threads/{thread_id}/stream",
  "/threads/{thread_id}/stream/events",
  "/namespaces/{namespace}/stream",
  "/ollama/stream",
  "/files/stream",
  "/feed",
]);

/** Sends a generated request and reads the answer; of a stream that does not end by itself only its head. */
export async function sendFuzz(
  url: string,
  { route, path, body }: FuzzRequest,
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}${path}`, {
    method: route.method,
    headers: { "content-type": "application/json" },
    signal: AbortSignal.timeout(20_000),
    ...(body !== undefined && { body }),
  });
  const isEndless = endlessPaths.has(route.path) && response.status === 200;
  if (!isEndless) return { status: response.status, text: await response.text() };
  await response.body?.cancel();
  return { status: response.status, text: "" };
}
