import { z } from "zod";
import type { TestServer } from "../test-server.ts";

const Schema = z.record(z.string(), z.unknown());
const Operation = z.looseObject({
  parameters: z.array(z.looseObject({ in: z.string(), name: z.string(), schema: Schema.optional() })).default([]),
  requestBody: z
    .looseObject({ content: z.record(z.string(), z.looseObject({ schema: Schema.optional() })) })
    .optional(),
});
const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({ schemas: z.record(z.string(), Schema).default({}) }).optional(),
});

/** A JSON Schema as the document has it. */
export type Schema = z.infer<typeof Schema>;

/** One route of the server's own `/openapi.json`: what a test over all routes needs, so that new ones join by themselves. */
export interface DescribedRoute {
  method: string;
  /** With `{name}` where a parameter stands. */
  path: string;
  parameters: { in: string; name: string; schema: Schema }[];
  body: Schema | undefined;
}

/** Every described route, and the schemas that they refer to by name. */
export async function describedRoutes(
  server: Pick<TestServer, "send">,
  headers: Record<string, string> = {},
): Promise<{ routes: DescribedRoute[]; schemas: Record<string, Schema> }> {
  const { paths, components } = Document.parse(
    await (await server.send("GET", "/openapi.json", undefined, headers)).json(),
  );
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters.map(({ in: where, name, schema }) => ({
        in: where,
        name,
        schema: schema ?? {},
      })),
      body: operation.requestBody?.content["application/json"]?.schema,
    })),
  );
  return { routes, schemas: components?.schemas ?? {} };
}
