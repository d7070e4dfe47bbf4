import { z } from "zod";

/** Characters that the description of a tool's parameters may take of the model's window. */
const schemaLength = 20_000;

/** The parts of a JSON Schema that are read here. */
const ObjectSchema = z.looseObject({
  type: z.literal("object"),
  properties: z.record(z.string(), z.looseObject({})).default({}),
  required: z.array(z.string()).default([]),
  $defs: z.looseObject({}).optional(),
  definitions: z.looseObject({}).optional(),
});

/** How a tool's arguments are described to the model, and how they are checked before a call. */
export interface ArgumentSchema {
  parameters: Record<string, unknown>;
  schema: z.ZodObject;
}

/**
 * Reads the JSON Schema by which a server describes the arguments of a tool. What zod does not know (conditions, `not`) is
 * left to the server; names, types and what must be there are always checked. Answers with what is wrong as a text.
 */
export function readArgumentSchema(given: unknown): ArgumentSchema | string {
  const parsed = ObjectSchema.safeParse(given);
  if (!parsed.success) return "its inputSchema is no JSON Schema of an object";
  const { $schema: _, ...parameters } = parsed.data;
  if (JSON.stringify(parameters).length > schemaLength)
    return `its inputSchema has more than ${schemaLength} characters`;
  return { parameters, schema: wholeSchema(parameters) ?? schemaByProperty(parameters) };
}

/** The schema as zod reads it whole; `undefined` where it cannot, or not as an object. */
function wholeSchema(parameters: Record<string, unknown>): z.ZodObject | undefined {
  const schema = toZod(parameters);
  return schema instanceof z.ZodObject ? schema : undefined;
}

function schemaByProperty({ properties, required, $defs, definitions }: z.infer<typeof ObjectSchema>): z.ZodObject {
  const shared = { ...($defs && { $defs }), ...(definitions && { definitions }) };
  const shape = Object.entries(properties).map(([name, property]) => {
    const schema = toZod({ ...property, ...shared }) ?? anything;
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
