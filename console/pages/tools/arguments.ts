import * as z from "zod/mini";

const Part = z.looseObject({
  type: z.optional(z.union([z.string(), z.array(z.string())])),
  description: z.optional(z.string()),
  enum: z.optional(z.array(z.unknown())),
  items: z.optional(z.unknown()),
  anyOf: z.optional(z.array(z.unknown())),
});
const Parameters = z.looseObject({
  properties: z.optional(z.record(z.string(), z.unknown())),
  required: z.optional(z.array(z.string())),
});

/** An argument of a tool, as a list shows it. */
interface Argument {
  name: string;
  /** What kind of value it is; empty where the schema does not say it in short. */
  type: string;
  isRequired: boolean;
  description: string;
}

/** The arguments of a JSON Schema, those that are needed first. */
export function argumentsOf(schema: unknown): Argument[] {
  const { properties = {}, required = [] } = z.safeParse(Parameters, schema).data ?? {};
  const all = Object.entries(properties).map(([name, part]) => ({
    name,
    type: typeOf(part),
    isRequired: required.includes(name),
    description: z.safeParse(Part, part).data?.description ?? "",
  }));
  return [...all.filter(({ isRequired }) => isRequired), ...all.filter(({ isRequired }) => !isRequired)];
}

/** Levels of a type that are said: what is deeper stands in the schema. */
const deepest = 3;

function typeOf(schema: unknown, depth = 0): string {
  const part = z.safeParse(Part, schema).data;
  if (part === undefined || depth > deepest) return "";
  if (part.enum !== undefined) return part.enum.map((one) => JSON.stringify(one)).join(" | ");
  if (part.anyOf !== undefined) {
    return [...new Set(part.anyOf.map((one) => typeOf(one, depth + 1)))].filter((one) => one !== "").join(" | ");
  }
  if (part.type === "array") {
    const inner = typeOf(part.items, depth + 1);
    return inner === "" ? "array" : inner.includes(" ") ? `(${inner})[]` : `${inner}[]`;
  }
  return Array.isArray(part.type) ? part.type.join(" | ") : (part.type ?? "");
}
