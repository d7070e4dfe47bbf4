import type { MiddlewareHandler, ValidationTargets } from "hono";
import { resolver, uniqueSymbol } from "hono-openapi";
import { z } from "zod";
import { readJson } from "./requests/body.ts";
import type { HttpContext, HttpEnvironment } from "./environment.ts";
import { answerInvalid } from "./errors.ts";

type Validator<Target extends keyof ValidationTargets, Schema extends z.ZodType> = MiddlewareHandler<
  HttpEnvironment,
  string,
  { in: { [Key in Target]: z.input<Schema> }; out: { [Key in Target]: z.output<Schema> } }
>;

/**
 * A middleware that parses one part of a request and describes it to `/openapi.json` from the same schema. The handler
 * reads the result with `context.req.valid(target)`. A wrong value answers 400 with the issues, never with the input.
 */
function validator<Target extends keyof ValidationTargets, Schema extends z.ZodType>(
  target: Target,
  schema: Schema,
  read: (context: HttpContext) => unknown,
  described: z.ZodType = schema,
): Validator<Target, Schema> {
  const validate: Validator<Target, Schema> = async (context, next) => {
    const parsed = schema.safeParse(await read(context));
    if (!parsed.success) return answerInvalid(parsed.error, context);
    // Hono keeps validated data untyped; `valid()` gives it the type of `out` above.
    context.req.addValidatedData(target, parsed.data as object);
    return next();
  };
  // What a client sends is the schema's input: before defaults and transforms.
  return Object.assign(validate, { [uniqueSymbol]: { target, ...resolver(described, { options: { io: "input" } }) } });
}

/** Parses the JSON body. `described` is the whole of a body of which the handler reads a part itself, because it is long. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema, described?: z.ZodType): Validator<"json", Schema> {
  return validator("json", schema, readJson, described);
}

/** Parses the query; of a repeated key the first value counts. */
export function query<Schema extends z.ZodType>(schema: Schema): Validator<"query", Schema> {
  return validator("query", schema, (context) => context.req.query());
}

/** Parses the path's parameters. */
export function path<Schema extends z.ZodType>(schema: Schema): Validator<"param", Schema> {
  return validator("param", schema, (context) => context.req.param());
}

/** An id of a thread, run or checkpoint, in lower case. */
export const Id = z.guid({ error: "expected a UUID" }).toLowerCase();

/** Names of fields, of which only those are told. Each row is looked at for each name. */
export const FieldNames = z.array(z.string()).max(1_000);

/** A yes or no in a query: `1`, `true`, `yes`, `0`, `false`, `no`. */
export const QueryFlag = z
  .enum(["1", "true", "yes", "0", "false", "no", ""])
  .transform((text) => text === "1" || text === "true" || text === "yes");

/** Which subgraphs of a run a reader wants to hear of. */
export const NamespaceQuery = z.object({
  namespace: z
    .string()
    .optional()
    .describe("Only events of this path of subgraphs, empty at the root, without what is below; may be repeated"),
});
