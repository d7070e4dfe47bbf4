import type { RJSFSchema } from "@rjsf/utils";
import { visible } from "../markdown/links.ts";

/** Levels of a schema that become fields; what is deeper is written as JSON. */
const deepest = 24;

/** Fields of our own, by the id that a schema is marked with. */
const json = { $id: "json" } as const;

/** A schema within the schema whose references count from itself, as a field that was described alone. */
interface Scope {
  /** What stands before the names of its definitions; empty for the whole. */
  prefix: string;
  /** The definitions of inner schemas, by the names that they have in the whole. */
  found: Record<string, RJSFSchema>;
  /** How many inner schemas there are so far. */
  inner: { count: number };
}

/**
 * A JSON Schema as the form can show it: what has no field of its own, such as an object of any keys, is marked to be written
 * as JSON, and what LangGraph calls messages to be written as messages. `undefined`: there is nothing but JSON to write.
 */
export function markedSchema(schema: unknown): RJSFSchema | undefined {
  if (!isObject(schema)) return undefined;
  const scope: Scope = { prefix: "", found: {}, inner: { count: 0 } };
  const marked = mark(schema, 0, scope);
  if (marked.$id === "json" || Object.keys(marked).length === 0) return undefined;
  const definitions = { ...marked.definitions, ...scope.found };
  const whole = Object.keys(definitions).length === 0 ? marked : { ...marked, definitions };
  // A marked schema stays one.
  return withoutLost(whole, whole) as RJSFSchema;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mark(given: Record<string, unknown>, depth: number, scope: Scope): RJSFSchema {
  const schema = withoutWrapping(given);
  const words = wordsOf(schema);
  if (schema["langgraph_type"] === "messages") return { ...words, $id: "messages" };
  if (depth > deepest || isFree(schema)) return { ...words, ...json };
  const isOwn = depth > 0 && ("$schema" in schema || "definitions" in schema || "$defs" in schema);
  if (isOwn) scope.inner.count += 1;
  const own: Scope = isOwn ? { ...scope, prefix: `part-${scope.inner.count}` } : scope;
  if (isOwn) findDefinitions(schema, depth + 1, own);
  const marked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    // The names of the form's own fields are ours, and a draft says nothing within a schema.
    if (name === "$id" || name === "$schema" || (isOwn && isDefinitions(name, value))) continue;
    const isReference = name === "$ref" && typeof value === "string";
    marked[name] = isReference ? referenceIn(own, value) : markPart(name, value, depth + 1, own);
  }
  const whole: RJSFSchema = { ...marked, ...words };
  if (isOwn && JSON.stringify([whole, own.found]).includes(`"#/definitions/${own.prefix}"`)) {
    own.found[own.prefix] = whole;
  }
  return whole;
}

/** What a field says of itself. */
function wordsOf({ title, description, default: preset }: Record<string, unknown>): RJSFSchema {
  return {
    ...(typeof title === "string" && { title: visible(title) }),
    ...(typeof description === "string" && { description: visible(description) }),
    // It is part of a JSON text.
    ...(preset !== undefined && { default: preset as RJSFSchema["default"] }),
  };
}

function isDefinitions(name: string, value: unknown): value is Record<string, unknown> {
  return (name === "definitions" || name === "$defs") && isObject(value);
}

/** Puts the definitions of an inner schema among those of the whole. */
function findDefinitions(schema: Record<string, unknown>, depth: number, own: Scope): void {
  for (const [name, value] of Object.entries(schema)) {
    if (!isDefinitions(name, value)) continue;
    for (const [key, part] of Object.entries(value)) {
      if (isObject(part)) own.found[`${own.prefix}-${key}`] = mark(part, depth, own);
    }
  }
}

/** A list of one schema that must all fit is that schema: so a reference gets its title or default beside it. */
function withoutWrapping(schema: Record<string, unknown>): Record<string, unknown> {
  const { allOf, ...rest } = schema;
  const [only] = Array.isArray(allOf) && allOf.length === 1 ? allOf : [];
  return isObject(only) ? { ...only, ...rest } : schema;
}

/** A reference of an inner schema, as it is called in the whole. */
function referenceIn({ prefix }: Scope, reference: string): string {
  if (prefix === "") return reference;
  if (reference === "#") return `#/definitions/${prefix}`;
  return reference.replace(/^#\/(?:definitions|\$defs)\/(?<name>[^/]+)$/u, `#/definitions/${prefix}-$<name>`);
}

/** A reference to nothing becomes a value that is written as JSON. */
function withoutLost(part: unknown, whole: unknown): unknown {
  if (Array.isArray(part)) return part.map((one) => withoutLost(one, whole));
  if (!isObject(part)) return part;
  const reference = part["$ref"];
  if (typeof reference === "string" && !isKnown(whole, reference)) return { ...json };
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, withoutLost(value, whole)]));
}

function isKnown(whole: unknown, reference: string): boolean {
  if (!reference.startsWith("#")) return false;
  const names = reference
    .slice(1)
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
  let at = whole;
  for (const name of names) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return false;
    at = Reflect.get(at, name);
  }
  return true;
}

/** Keys whose values are schemas, lists of them, or schemas by name. */
const single = new Set(["items", "additionalProperties", "not", "if", "then", "else", "contains"]);
const listed = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const named = new Set(["properties", "patternProperties", "definitions", "$defs"]);

function markPart(name: string, value: unknown, depth: number, scope: Scope): unknown {
  const one = (part: unknown): unknown =>
    isObject(part) ? mark(part, depth, scope) : part === true ? { ...json } : part;
  if (single.has(name)) return isObject(value) ? mark(value, depth, scope) : value;
  if (listed.has(name) && Array.isArray(value)) return value.map(one);
  if (named.has(name) && isObject(value)) {
    // A field of this name would change the objects of the form itself.
    const parts = Object.entries(value).filter(([key]) => key !== "__proto__");
    return Object.fromEntries(parts.map(([key, part]) => [key, one(part)]));
  }
  return value;
}

const shapes = ["$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties"];

/** Whether a schema takes anything of its kind, so that no field fits. */
function isFree(schema: Record<string, unknown>): boolean {
  const { type } = schema;
  if (shapes.some((shape) => shape in schema)) return false;
  if (type === undefined || type === "object") return !isObject(schema["additionalProperties"]);
  if (type === "array") return !isObject(schema["items"]);
  return false;
}
