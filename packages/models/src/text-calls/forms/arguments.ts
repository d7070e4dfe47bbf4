import { z } from "zod";

/** The simple types in a parameter's JSON Schema. */
const Typed = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  anyOf: z.array(z.looseObject({ type: z.string().optional() })).optional(),
});

/** The types a schema allows; empty if unspecified. */
function typesOf(schema: unknown): string[] {
  const found = Typed.safeParse(schema);
  if (!found.success) return [];
  const { type, anyOf } = found.data;
  return [...(type === undefined ? [] : [type].flat()), ...(anyOf ?? []).flatMap((choice) => choice.type ?? [])];
}

/**
 * Converts a call's textual values by their parameters' schemas, or by their form if there is no schema. A value that
 * does not fit stays text, so that the tool's own validation names the parameter.
 */
export function argumentsOf(
  params: Readonly<Record<string, string>>,
  properties: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const typed = Object.entries(params).map(([name, value]): [string, unknown] => {
    const types = Object.hasOwn(properties, name) ? typesOf(properties[name]) : [];
    return [name, types.length === 0 ? byLook(value) : byType(value, types)];
  });
  return Object.fromEntries(typed);
}

function byLook(value: string): unknown {
  if (value === "true" || value === "false") return value === "true";
  return asInteger(value) ?? value;
}

/** More digits than a number holds exactly mean an id, not an amount. */
function asInteger(value: string): number | undefined {
  const integer = Number(value);
  return /^\d+$/.test(value) && Number.isSafeInteger(integer) ? integer : undefined;
}

function byType(written: string, types: readonly string[]): unknown {
  const value = written.trim();
  const allows = (...wanted: string[]): boolean => wanted.some((type) => types.includes(type));
  if (allows("boolean") && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === "true";
  if (allows("integer", "number") && /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(value)) {
    const number = Number(value);
    if (allows("number") || Number.isSafeInteger(number)) return number;
  }
  if (allows("null") && value === "null") return null;
  if ((allows("object") && value.startsWith("{")) || (allows("array") && value.startsWith("["))) {
    return parsed(value) ?? written;
  }
  return written;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: it stays text.
    return undefined;
  }
}
