import { z } from "zod";

const JsonObject = z.record(z.string(), z.unknown());
type JsonObject = z.infer<typeof JsonObject>;

/** Schemas that may stand in one another, references followed, and how deep. */
const mostParts = 2_000;
const mostLevels = 50;

/** Where a schema holds others: by name, in a list, or alone. */
const namedParts = new Set(["properties", "dependentSchemas"]);
const listedParts = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const singleParts = new Set([
  "items",
  "additionalProperties",
  "not",
  "if",
  "then",
  "else",
  "contains",
  "propertyNames",
]);
/** Patterns are the server's to check: one can take for ever on a text that a model wrote. Shared parts are put in place. */
const leftOut = new Set(["$schema", "$defs", "definitions", "$ref", "pattern", "patternProperties"]);

/**
 * A server's schema in a form that is checked in bounded time: references replaced by what they mean, no patterns. What
 * refers to itself may be anything there. `undefined` when the whole is too much.
 */
export function plainSchema(root: JsonObject): JsonObject | undefined {
  let parts = 0;

  const each = (value: unknown, levels: number, within: readonly string[]): unknown => {
    const schema = JsonObject.safeParse(value);
    return schema.success ? plain(schema.data, levels + 1, within) : value;
  };

  const part = (name: string, value: unknown, levels: number, within: readonly string[]): unknown => {
    if (namedParts.has(name)) {
      const named = JsonObject.safeParse(value);
      if (!named.success) return value;
      return Object.fromEntries(Object.entries(named.data).map(([key, one]) => [key, each(one, levels, within)]));
    }
    if (Array.isArray(value) && (listedParts.has(name) || name === "items")) {
      return value.map((one: unknown) => each(one, levels, within));
    }
    return singleParts.has(name) ? each(value, levels, within) : value;
  };

  const plain = (schema: JsonObject, levels: number, within: readonly string[]): JsonObject => {
    parts += 1;
    if (parts > mostParts || levels > mostLevels) return {};
    const { $ref: reference } = schema;
    const isNew = typeof reference === "string" && !within.includes(reference);
    const target = isNew ? targetOf(root, reference) : undefined;
    const meant = target === undefined || !isNew ? {} : plain(target, levels + 1, [...within, reference]);
    const own = Object.entries(schema)
      // Names that a pattern allows are not known here.
      .filter(([name]) => !leftOut.has(name) && !(name === "additionalProperties" && "patternProperties" in schema))
      .map(([name, value]) => [name, part(name, value, levels, within)]);
    return { ...meant, ...Object.fromEntries(own) };
  };

  const whole = plain(root, 0, ["#"]);
  return parts > mostParts ? undefined : whole;
}

/** The shared part that a reference names. */
function targetOf(root: JsonObject, reference: string): JsonObject | undefined {
  const [, folder, name] = /^#\/(\$defs|definitions)\/([^/]+)$/u.exec(reference) ?? [];
  const shared = folder === undefined ? undefined : JsonObject.safeParse(root[folder]).data;
  if (shared === undefined || name === undefined || !Object.hasOwn(shared, name)) return undefined;
  return JsonObject.safeParse(shared[name]).data;
}
