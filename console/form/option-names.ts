import type { RJSFSchema } from "@rjsf/utils";

/** What the kinds of values are called. */
export type KindNames = Readonly<
  Record<"string" | "number" | "integer" | "boolean" | "array" | "object" | "null" | "json" | "messages", string>
>;

/** Fields of an alternative that it is called by. */
const namingFields = 3;

/** A marked schema in which each alternative of a value has a title: one without is called by what it takes. */
export function withNamedOptions(schema: RJSFSchema, kinds: KindNames): RJSFSchema {
  // A schema with more titles stays one.
  return named(schema, schema, kinds) as RJSFSchema;
}

function named(part: unknown, whole: RJSFSchema, kinds: KindNames): unknown {
  if (Array.isArray(part)) return part.map((one) => named(one, whole, kinds));
  if (!isObject(part)) return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => {
      const inner = named(value, whole, kinds);
      const isChoice = (key === "anyOf" || key === "oneOf") && Array.isArray(inner);
      return [key, isChoice ? titled(inner, whole, kinds) : inner];
    }),
  );
}

/** Alternatives of the same name are distinguished by their number. */
function titled(options: readonly unknown[], whole: RJSFSchema, kinds: KindNames): unknown[] {
  const names = options.map((option) =>
    isObject(option) && option["title"] === undefined ? nameOf(option, whole, kinds) : undefined,
  );
  return options.map((option, index) => {
    const name = names[index];
    if (!isObject(option) || name === undefined) return option;
    const isAlone = names.filter((one) => one === name).length === 1;
    return { ...option, title: isAlone ? name : `${name} ${index + 1}` };
  });
}

function nameOf(option: Record<string, unknown>, whole: RJSFSchema, kinds: KindNames): string | undefined {
  const reference = option["$ref"];
  if (typeof reference === "string") {
    const name = reference.split("/").at(-1) ?? "";
    const definition: unknown = whole.definitions?.[name];
    if (!isObject(definition)) return name === "" || name === "#" ? undefined : name;
    return typeof definition["title"] === "string" ? undefined : (nameOf(definition, whole, kinds) ?? name);
  }
  if ("const" in option) return shown(option["const"]);
  const values = option["enum"];
  if (Array.isArray(values)) return values.slice(0, namingFields).map(shown).join(", ");
  const kind = option["$id"] ?? option["type"];
  return typeof kind === "string" && isKind(kind, kinds) ? (fieldsOf(option) ?? kinds[kind]) : fieldsOf(option);
}

/** The value that tells an object from the others of its union, or the names of its first fields. */
function fieldsOf({ properties }: Record<string, unknown>): string | undefined {
  if (!isObject(properties)) return undefined;
  const fields = Object.entries(properties);
  const [fixed] = fields.flatMap(([, field]) => (isObject(field) && "const" in field ? [shown(field["const"])] : []));
  const names = fields.slice(0, namingFields).map(([name]) => name);
  const rest = fields.length > names.length ? "…" : "";
  return fixed ?? (names.length === 0 ? undefined : names.join(", ") + rest);
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function isKind(kind: string, kinds: KindNames): kind is keyof KindNames {
  return Object.hasOwn(kinds, kind);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
