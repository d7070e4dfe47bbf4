import { z } from "zod";

/** Characters that the description of a tool's parameters may take of the model's window. */
const schemaLength = 20_000;

/** The parts of a JSON Schema that are read here. */
const ObjectSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), z.looseObject({})).default({}),
  required: z.array(z.string()).default([]),
});

/** How a tool's arguments are described to the model, and how they are checked before a call. */
export interface ArgumentSchema {
  parameters: Record<string, unknown>;
  schema: z.ZodObject;
}

/**
 * Reads the JSON Schema by which a server describes the arguments of a tool. What zod does not know (conditions,
 * `not`), patterns, and what is too much to check in bounded time are left to the server; names and what must be there
 * are always checked. Answers with what is wrong as a text.
 */
export function readArgumentSchema(given: unknown): ArgumentSchema | string {
  const parsed = ObjectSchema.safeParse(given);
  if (!parsed.success) return "its inputSchema is no JSON Schema of an object";
  const { $schema: _, ...parameters } = parsed.data;
  const length = lengthOf(parameters);
  if (length === undefined) return "its inputSchema is nested too deeply";
  if (length > schemaLength) return `its inputSchema has more than ${schemaLength} characters`;
  const plain = ObjectSchema.safeParse(plainSchema(parameters)).data;
  if (plain === undefined) return { parameters, schema: schemaByProperty(namesOnly(parameters)) };
  return { parameters, schema: wholeSchema(plain) ?? schemaByProperty(plain) };
}

/** Characters as JSON; `undefined` for what is nested too deeply to be written. */
function lengthOf(value: unknown): number | undefined {
  try {
    return JSON.stringify(value).length;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function namesOnly({ type, properties, required }: z.infer<typeof ObjectSchema>): z.infer<typeof ObjectSchema> {
  return { type, required, properties: Object.fromEntries(Object.keys(properties).map((name) => [name, {}])) };
}

/** The schema as zod reads it whole; `undefined` where it cannot, or not as an object. */
function wholeSchema(parameters: Record<string, unknown>): z.ZodObject | undefined {
  const schema = toZod(parameters);
  return schema instanceof z.ZodObject ? schema : undefined;
}

function schemaByProperty({ properties, required }: z.infer<typeof ObjectSchema>): z.ZodObject {
  const shape = Object.entries(properties).map(([name, property]) => {
    const schema = (Object.keys(property).length === 0 ? undefined : toZod(property)) ?? anything;
    return [name, required.includes(name) ? schema : schema.optional()];
  });
  return z.looseObject(Object.fromEntries(shape));
}

/** Any value that JSON can hold, but not none. */
const anything = z.unknown().refine((value) => value !== undefined, { error: "is missing" });

function toZod(schema: Record<string, unknown>): z.ZodType | undefined {
  try {
    return z.fromJSONSchema(schema);
  } catch {
    return undefined;
  }
}

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
