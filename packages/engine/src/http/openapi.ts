import { readFile } from "node:fs/promises";
import { Hono } from "hono";
import { openAPIRouteHandler } from "hono-openapi";
import { z } from "zod";
import type { HttpApp, HttpEnvironment } from "./environment.ts";
import { notFound } from "./errors.ts";
import { answerBody } from "./answers/json.ts";
import { versions } from "./versions.ts";

/** The files of swagger-ui that the page needs, and their types; nothing is fetched from elsewhere. */
const assets = new Map([
  ["swagger-ui.css", "text/css; charset=utf-8"],
  ["swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
  ["favicon-32x32.png", "image/png"],
]);

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Millrace API</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <div id="page"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;
const startScript = 'SwaggerUIBundle({ url: "/openapi.json", dom_id: "#page", deepLinking: true });\n';

const ValidationError = z
  .object({
    success: z.literal(false),
    error: z.object({
      name: z.literal("ZodError"),
      issues: z.array(z.object({ code: z.string(), path: z.array(z.string()), message: z.string() })),
    }),
  })
  .describe("Which values are wrong, and why; what was sent is not repeated");

/**
 * `/openapi.json`, made from the schemas that validate, and a page that shows it at `/docs`, both without a network.
 * They hold nobody's data and are open to all; the page asks for a key where calls need one.
 */
export function openApiRoutes(app: HttpApp, needsKey: boolean): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/openapi.json",
    async (context, next) => {
      context.set("isLong", true);
      return next();
    },
    openAPIRouteHandler(app, {
      documentation: {
        info: {
          title: "Millrace",
          version: versions.millrace,
          description: "Durable agent workflows on LangGraph.js, spoken to by the LangGraph Platform API.",
        },
        components: { securitySchemes: { ApiKey: { type: "apiKey", in: "header", name: "x-api-key" } } },
        ...(needsKey && { security: [{ ApiKey: [] }] }),
      },
      // A card has the name of a file; what has no description is left out anyway.
      excludeStaticFile: false,
      defaultValidationErrorResponse: {
        description: "Wrong values, or JSON that cannot be read (then as plain text)",
        // Zod's JSON Schema is what OpenAPI 3.1 means by a schema; the two packages type it differently.
        content: { "application/json": { schema: z.toJSONSchema(ValidationError) as object } },
      },
    }),
  );
  routes.get("/docs", (context) => context.html(page));
  routes.get("/docs/start.js", (context) =>
    context.body(startScript, 200, { "Content-Type": "text/javascript; charset=utf-8" }),
  );
  routes.get("/docs/:asset", async (context) => {
    const name = context.req.param("asset");
    const type = assets.get(name);
    if (type === undefined) throw notFound("404 Not Found");
    const file = await readFile(new URL(import.meta.resolve(`swagger-ui-dist/${name}`)));
    return answerBody(context, new Uint8Array(file), type);
  });
  return routes;
}
