import type { MiddlewareHandler } from "hono";
import { resolver, uniqueSymbol } from "hono-openapi";
import type { z } from "zod";
import { readJson } from "../requests/body.ts";
import type { HttpEnvironment } from "../environment.ts";
import { OpenAiError } from "./problem.ts";

/** What all routes say of their errors. */
export const failing = {
  errors: {
    401: "No key, or a wrong one",
    404: "No such model or response",
    422: "The Idempotency-Key came with another request",
    429: "Too many runs wait; Retry-After says when to come back",
  },
  errorAnswers: { 401: OpenAiError, 404: OpenAiError, 422: OpenAiError, 429: OpenAiError },
};

/** What the routes say that start a run. */
export const starting = { ...failing, headers: ["Idempotency-Key"], tellsPosition: true } as const;

type BodyReader<Schema extends z.ZodType> = MiddlewareHandler<
  HttpEnvironment,
  string,
  { in: { json: z.input<Schema> }; out: { json: z.output<Schema> } }
>;

/** Parses the JSON body; what is wrong is thrown, and answered in OpenAI's form. */
export function openAiBody<Schema extends z.ZodType>(schema: Schema): BodyReader<Schema> {
  const read: BodyReader<Schema> = async (context, next) => {
    // Hono keeps validated data untyped; `valid()` gives it the type of `out` above.
    context.req.addValidatedData("json", schema.parse(await readJson(context)) as object);
    return next();
  };
  return Object.assign(read, { [uniqueSymbol]: { target: "json", ...resolver(schema, { options: { io: "input" } }) } });
}
