import { z } from "zod";
import { plainSchema } from "./plain-schema.ts";

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
