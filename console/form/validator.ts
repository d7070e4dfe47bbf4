import { Validator, type Schema } from "@cfworker/json-schema";
import {
  toErrorSchema,
  type CustomValidator,
  type ErrorTransformer,
  type RJSFSchema,
  type RJSFValidationError,
  type ValidationData,
  type ValidatorType,
} from "@rjsf/utils";

/** Maximum problems shown for a value; one wrong branch of a union has many. */
const maxProblems = 20;

/** What of a value does not fit a schema, without `eval`. A schema that cannot be read refuses nothing: the server decides. */
export function problemsOf(schema: RJSFSchema, value: unknown): RJSFValidationError[] {
  try {
    // Both are JSON Schema; the types of the two packages differ in what they call a draft.
    const result = new Validator(unmarked(schema) as Schema, "2020-12", false).validate(value);
    const units = result.errors.filter(({ keyword }) => !groups.has(keyword));
    return (units.length === 0 ? result.errors : units).slice(0, maxProblems).map((unit) => {
      const path = unit.instanceLocation.split("/").slice(1).map(unescaped);
      const missing =
        unit.keyword === "required" ? /"(?<name>[^"]+)"\.?$/u.exec(unit.error)?.groups?.["name"] : undefined;
      const whole = missing === undefined ? path : [...path, missing];
      return { name: unit.keyword, message: unit.error, property: `.${whole.join(".")}`, stack: unit.error };
    });
  } catch {
    return [];
  }
}

/** Keywords that only say that something below them does not fit. */
const groups = new Set(["properties", "items", "additionalProperties", "allOf", "$ref", "prefixItems"]);

function unescaped(part: string): string {
  return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Checks the form by `@cfworker/json-schema`. */
export const validator: ValidatorType = {
  isValid(schema, value, root) {
    try {
      const { $defs, definitions } = root;
      const whole = { ...($defs && { $defs }), ...(definitions && { definitions }), ...schema };
      // See `problemsOf`.
      return new Validator(unmarked(whole) as Schema, "2020-12").validate(value).valid;
    } catch {
      return false;
    }
  },
  // Only the playground of the form's package asks for it.
  rawValidation: () => ({}),
  validateFormData<Data>(
    value: Data | undefined,
    schema: RJSFSchema,
    _custom?: CustomValidator<Data>,
    _transform?: ErrorTransformer<Data>,
  ): ValidationData<Data> {
    const errors = problemsOf(schema, value);
    return { errors, errorSchema: toErrorSchema<Data>(errors) };
  },
};

/** Without the marks for the form's own fields, which are no addresses. */
function unmarked(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(unmarked);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).filter(([name]) => name !== "$id");
  return Object.fromEntries(entries.map(([name, value]) => [name, unmarked(value)]));
}
