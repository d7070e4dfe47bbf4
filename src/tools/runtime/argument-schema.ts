import { z } from "zod";

/** Maximum characters of a tool's parameter schema in the model's window. */
const schemaLength = 20_000;

/** The parts of a JSON Schema that are read here. */
const ObjectSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), z.looseObject({})).default({}),
  required: z.array(z.string()).default([]),
});

/** A tool's arguments: the description for the model and the validation. */
export interface ArgumentSchema {
  parameters: Record<string, unknown>;
  schema: z.ZodObject;
}

/**
 * Reads an MCP server's JSON Schema for a tool's arguments. Conditions, `not`, patterns and whatever cannot be checked
 * in bounded time are left to the server; names and required fields are always checked. Returns the problem as text.
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

/** Length as JSON; `undefined` if nested too deeply. */
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

/** The whole schema as a zod object; `undefined` if zod cannot read it. */
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

/** Any JSON value except `undefined`. */
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

/** Maximum number of subschemas with references resolved, and maximum depth. */
const maxParts = 2_000;
const maxLevels = 50;

/** Keywords that contain subschemas: by name, in a list, or one. */
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
/** Left to the server: a pattern can take exponential time on a model's text. Shared definitions are inlined. */
const leftOut = new Set(["$schema", "$defs", "definitions", "$ref", "pattern", "patternProperties"]);

/**
 * The schema in a form that is checked in bounded time: references inlined, patterns removed, recursive references
 * accept anything. `undefined` if too large.
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
    if (parts > maxParts || levels > maxLevels) return {};
    const { $ref: reference } = schema;
    const isNew = typeof reference === "string" && !within.includes(reference);
    const target = isNew ? targetOf(root, reference) : undefined;
    const meant = target === undefined || !isNew ? {} : plain(target, levels + 1, [...within, reference]);
    const own = Object.entries(schema)
      // Names allowed by a pattern are unknown here.
      .filter(([name]) => !leftOut.has(name) && !(name === "additionalProperties" && "patternProperties" in schema))
      .map(([name, value]) => [name, part(name, value, levels, within)]);
    return { ...meant, ...Object.fromEntries(own) };
  };

  const whole = plain(root, 0, ["#"]);
  return parts > maxParts ? undefined : whole;
}

/** Resolves a reference to a shared definition. */
function targetOf(root: JsonObject, reference: string): JsonObject | undefined {
  const [, folder, name] = /^#\/(\$defs|definitions)\/([^/]+)$/u.exec(reference) ?? [];
  const shared = folder === undefined ? undefined : JsonObject.safeParse(root[folder]).data;
  if (shared === undefined || name === undefined || !Object.hasOwn(shared, name)) return undefined;
  return JsonObject.safeParse(shared[name]).data;
}
