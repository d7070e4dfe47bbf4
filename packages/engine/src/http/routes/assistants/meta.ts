import { Hono } from "hono";
import { z } from "zod";
import { describe } from "../../describe.ts";
import type { HttpApp, HttpEnvironment, SharedServices } from "../../environment.ts";
import { versions } from "../../versions.ts";

const Ok = z.object({ ok: z.literal(true) });
const Info = z.object({
  version: z.string().describe("The version of the LangGraph API that is spoken; Studio chooses its features by it."),
  langgraph_js_version: z.string(),
  context: z.literal("js"),
  flags: z.object({
    assistants: z.literal(true),
    crons: z.literal(true),
    langsmith: z.boolean(),
    langsmith_tracing_replicas: z.boolean().describe("A run may name a project that gets its spans as well"),
    strict_resume: z.literal(true).describe("A run may refuse answers to questions that are not open"),
    stream_namespaces: z.literal(true).describe("Readers may choose subgraphs by `namespace`"),
  }),
  server: z.object({ name: z.literal("millrace"), version: z.string() }),
});

/** `/ok` and `/info`: health, and what this server is. */
export function metaRoutes({ config }: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get("/ok", describe({ tag: "Meta", summary: "Whether the server is up", answer: Ok }), (context) =>
    context.json({ ok: true }),
  );
  routes.get("/info", describe({ tag: "Meta", summary: "What this server is", answer: Info }), (context) =>
    context.json({
      version: versions.api,
      langgraph_js_version: versions.langgraph,
      context: "js",
      flags: {
        assistants: true,
        crons: true,
        langsmith: config.langsmith.enabled,
        langsmith_tracing_replicas: config.langsmith.enabled,
        strict_resume: true,
        stream_namespaces: true,
      },
      server: { name: "millrace", version: versions.millrace },
    }),
  );
  return routes;
}
