import { z } from "zod";
import type { Tool } from "./tool.ts";

/** The part of JSON Schema with a parameter's simple type. */
const ParameterType = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  anyOf: z.array(z.object({ type: z.string().optional() })).optional(),
});

const described = new WeakMap<z.ZodType, Record<string, unknown>>();

/**
 * A tool's parameters as a JSON Schema object without `$schema`, for models and GET /tools. Cached per schema; do not
 * modify.
 */
export function parameterSchema(tool: Tool): Record<string, unknown> {
  const known = tool.parameters ?? described.get(tool.schema);
  if (known !== undefined) return known;
  const schema = jsonSchemaOf(tool.schema);
  described.set(tool.schema, schema);
  return schema;
}

/** A schema for models: without `$schema`, and without the bounds that every integer has. */
export function jsonSchemaOf(form: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(form, {
    io: "input",
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return schema;
}

/**
 * Converts values of the wrong simple type where that is unambiguous: "5" → 5, "true" → true, 5 → "5", a list or object
 * as JSON text → itself, null for an optional parameter → absent. Only the schema decides, so "007" stays text where
 * text is expected.
 */
export function convertParameters(tool: Tool, given: Record<string, unknown>): Record<string, unknown> {
  const converted: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const schema: z.ZodType | undefined = Object.hasOwn(tool.schema.shape, name) ? tool.schema.shape[name] : undefined;
    if (schema === undefined) converted[name] = value;
    else if (value === null && !schema.safeParse(null).success && schema.safeParse(undefined).success) continue;
    else converted[name] = schema.safeParse(value).success ? value : convert(value, wantedTypes(schema));
  }
  return converted;
}

function wantedTypes(schema: z.ZodType): string[] {
  const found = ParameterType.parse(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }));
  const own = found.type === undefined ? [] : [found.type].flat();
  return [...own, ...(found.anyOf ?? []).flatMap((choice) => choice.type ?? [])];
}

function convert(value: unknown, wanted: string[]): unknown {
  if (typeof value === "number" || typeof value === "boolean") return wanted.includes("string") ? String(value) : value;
  if (typeof value !== "string") return value;
  const text = value.trim();
  if (wanted.includes("integer") && /^[+-]?\d+$/.test(text)) return Number(text);
  if (wanted.includes("number") && /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return Number(text);
  if (wanted.includes("boolean") && /^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  const opening = [wanted.includes("array") ? "[" : "", wanted.includes("object") ? "{" : ""];
  return text !== "" && opening.includes(text.charAt(0)) ? parsed(text) : value;
}

/** Parses JSON; returns invalid text unchanged, so that validation names the parameter. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
