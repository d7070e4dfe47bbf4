import { Hono, type MiddlewareHandler } from "hono";
import { describeRoute, type DescribeRouteOptions, openAPIRouteHandler, resolver } from "hono-openapi";
import { z } from "zod";
import { ErrorShape } from "./responses/shapes.ts";
import { readFile } from "node:fs/promises";
import { type HttpApp, type HttpEnvironment, versions } from "./environment.ts";
import { notFound } from "./errors.ts";
import { answerBody } from "./responses/wire.ts";

/** A route's page in `/openapi.json`. */
export interface RouteDescription {
  tag:
    | "Meta"
    | "Assistants"
    | "Threads"
    | "Thread state"
    | "Messages"
    | "Approvals"
    | "Operations"
    | "Tools"
    | "Thread runs"
    | "Event protocol"
    | "Stateless runs"
    | "Store"
    | "Crons"
    | "Chat"
    | "MCP"
    | "A2A"
    | "Planner"
    | "Circuits"
    | "Memory"
    | "Prompts"
    | "Models"
    | "OpenAI";
  summary: string;
  /** The JSON of a success. Without one it is `empty` (204) or `events`. */
  answer?: z.ZodType;
  /** What the bytes of the request are, for a route that takes bytes. */
  bytes?: string;
  /** The content type of a plain-text success. */
  plain?: string;
  /** Other text content types in which the answer is available. */
  texts?: readonly string[];
  empty?: boolean;
  /** Further success statuses without a body, with their reason. */
  bodiless?: Record<number, string>;
  /** Server-sent events; never together with `answer`. */
  events?: boolean;
  /** Request headers that the route reads. */
  headers?: readonly (keyof typeof requestHeaders)[];
  /** Whether a success reports the run's queue position. */
  setsPositionHeader?: boolean;
  /** The JSON of the error statuses that have one. */
  errorAnswers?: Record<number, z.ZodType>;
  /** The error statuses besides 400, with their reason. */
  errors?: Record<number, string>;
  /** Whether it needs no key where others do. */
  isOpen?: boolean;
}

const requestHeaders = {
  "Idempotency-Key": "The same request again under the same key gives the same answer; 1 to 255 characters",
  "Last-Event-ID":
    "The id of the last event the reader has; the stream goes on after it. -1 or nothing: from the beginning",
  "If-Match": "The ETag of what is there, as the writer knows it; *: whatever is there",
} as const;

const queuePosition = {
  "X-Queue-Position": {
    description: "How many runs of the thread come before this one; missing once it has begun",
    schema: { type: "integer" },
  },
} as const;

const eventStream = [
  "Server-sent events; the first is `metadata`, the stream closes when the run is over.",
  'An event `gap` with `{"from": <id>, "to": <id>}` and no id of its own says which events the log does not hold.',
].join(" ");

const text = { schema: { type: "string" as const } };

/** Errors that any route may answer with. */
const sharedResponses = {
  NoKey: { description: "The key is wrong or missing, where one is needed", content: { "text/plain": text } },
  NotAllowed: {
    description: "A web page of an origin, or a name of this host, that may not call",
    content: { "text/plain": text },
  },
};

/** Describes a route: the headers it reads, its answer, and its errors, which are plain text, or JSON if asked for. */
export function describe(route: RouteDescription): MiddlewareHandler {
  const parameters = (route.headers ?? []).map((name) => ({
    in: "header" as const,
    name,
    description: requestHeaders[name],
    schema: { type: "string" as const },
  }));
  return describeRoute({
    tags: [route.tag],
    summary: route.summary,
    responses: responsesOf(route),
    ...(route.isOpen === true && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.bytes !== undefined && {
      requestBody: {
        required: true,
        description: route.bytes,
        content: { "application/octet-stream": { schema: { type: "string" as const, format: "binary" } } },
      },
    }),
  });
}

function responsesOf(route: RouteDescription): NonNullable<DescribeRouteOptions["responses"]> {
  const responses: NonNullable<DescribeRouteOptions["responses"]> = {
    ...(route.isOpen !== true && { "401": { $ref: "#/components/responses/NoKey" } }),
    "403": { $ref: "#/components/responses/NotAllowed" },
  };
  const headers = route.setsPositionHeader === true ? { headers: queuePosition } : {};
  if (route.empty === true) responses["204"] = { description: "Done" };
  else if (route.events === true) {
    responses["200"] = {
      description: eventStream,
      ...headers,
      content: { "text/event-stream": { schema: { type: "string" } } },
    };
  } else {
    responses["200"] = {
      description: "Success",
      ...headers,
      ...(route.plain !== undefined && { content: { [route.plain]: text } }),
      ...(route.answer && {
        content: {
          "application/json": { schema: resolver(route.answer) },
          ...Object.fromEntries((route.texts ?? []).map((type) => [type.split(";")[0], text])),
        },
      }),
    };
  }
  for (const [status, description] of Object.entries(route.bodiless ?? {})) responses[status] = { description };
  for (const [status, description] of Object.entries(route.errors ?? {})) {
    responses[status] = {
      description,
      content: {
        "text/plain": { schema: { type: "string" } },
        "application/json": { schema: resolver(route.errorAnswers?.[Number(status)] ?? ErrorShape) },
      },
    };
  }
  return responses;
}

/** The swagger-ui files that the page needs, with their types; nothing is fetched from elsewhere. */
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
 * `/openapi.json`, generated from the validating schemas, and a page for it at `/docs`; both work offline. They contain
 * no user data and are public; the page asks for a key if calls need one.
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
          license: { name: "MIT", identifier: "MIT" },
        },
        servers: [{ url: "/", description: "This server" }],
        components: {
          securitySchemes: { ApiKey: { type: "apiKey", in: "header", name: "x-api-key" } },
          responses: sharedResponses,
        },
        // Without keys, one that is sent does no harm.
        security: needsKey ? [{ ApiKey: [] }] : [{}, { ApiKey: [] }],
      },
      // Agent cards have file-like paths; routes without a description are left out anyway.
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
