import { z } from "zod";
import type { Tool } from "./tool.ts";

/** The part of JSON Schema that says of what simple type a parameter is. */
const ParameterType = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  anyOf: z.array(z.object({ type: z.string().optional() })).optional(),
});

const described = new WeakMap<z.ZodType, Record<string, unknown>>();

/**
 * What a tool takes, as a JSON Schema object without `$schema`: the form that models and GET /tools want. Worked out
 * once per schema, since every model call asks for it; not to be changed by the caller.
 */
export function parameterSchema(tool: Tool): Record<string, unknown> {
  const known = tool.parameters ?? described.get(tool.schema);
  if (known !== undefined) return known;
  const { $schema: _, ...schema } = z.toJSONSchema(tool.schema, { io: "input" });
  described.set(tool.schema, schema);
  return schema;
}

/**
 * Turns values of the wrong simple type into the type the schema wants where that is beyond doubt: "5" → 5, "true" →
 * true, 5 → "5", a list or object written as JSON text → itself, an explicit null of an optional parameter → absent.
 * The schema decides, never the look of the value, so "007" stays text where text is wanted.
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

/** The value of a JSON text; the text itself when it is none, so that validation names the parameter. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
