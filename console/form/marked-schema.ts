import type { RJSFSchema } from "@rjsf/utils";
import { visible } from "../markdown/links.ts";

/** Levels of a schema that become fields; what is deeper is written as JSON. */
const deepest = 24;

/** Fields of our own, by the id that a schema is marked with. */
const json = { $id: "json" } as const;

/**
 * A JSON Schema as the form can show it: what has no field of its own, such as an object of any keys, is marked to be written
 * as JSON, and what LangGraph calls messages to be written as messages. `undefined`: there is nothing but JSON to write.
 */
export function markedSchema(schema: unknown): RJSFSchema | undefined {
  if (!isObject(schema)) return undefined;
  const marked = mark(schema, 0);
  return marked.$id === "json" || Object.keys(marked).length === 0 ? undefined : marked;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mark(schema: Record<string, unknown>, depth: number): RJSFSchema {
  const { title, description, default: preset } = schema;
  const words: RJSFSchema = {
    ...(typeof title === "string" && { title: visible(title) }),
    ...(typeof description === "string" && { description: visible(description) }),
    // It is part of a JSON text.
    ...(preset !== undefined && { default: preset as RJSFSchema["default"] }),
  };
  if (schema["langgraph_type"] === "messages") return { ...words, $id: "messages" };
  if (depth > deepest || isFree(schema)) return { ...words, ...json };
  const marked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    // The names of the form's own fields are ours, and a draft says nothing within a schema.
    if (name !== "$id" && name !== "$schema") marked[name] = markPart(name, value, depth + 1);
  }
  return { ...marked, ...words };
}

/** Keys whose values are schemas, lists of them, or schemas by name. */
const single = new Set(["items", "additionalProperties", "not", "if", "then", "else", "contains"]);
const listed = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const named = new Set(["properties", "patternProperties", "definitions", "$defs"]);

function markPart(name: string, value: unknown, depth: number): unknown {
  const one = (part: unknown): unknown => (isObject(part) ? mark(part, depth) : part === true ? { ...json } : part);
  if (single.has(name)) return isObject(value) ? mark(value, depth) : value;
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
