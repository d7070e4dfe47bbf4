import { Hono } from "hono";
import { z } from "zod";
import { describe } from "../../describe.ts";
import {
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  servicesOf,
  type SharedServices,
  versions,
} from "../../environment.ts";
import { extname } from "node:path";
import { findAssistant } from "../../../graphs/load.ts";
import { globalOf, type InterfaceFile } from "../../../manifest/interfaces.ts";
import { notFound } from "../../errors.ts";
import { answerBody } from "../../responses/wire.ts";
import { jsonBody, path } from "../../validate.ts";

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

const Root = z.object({
  name: z.literal("millrace"),
  version: z.string(),
  description: z.string(),
  docs: z.string().describe("A page with all routes"),
  openapi: z.string(),
  console: z.string().nullable().describe("The page for people; null where it is not served"),
  health: z.string(),
});

/** `/`, a page for people and a description for programs; `/ok` and `/info`: health, and facts about this server. */
export function metaRoutes({ config, hasConsole }: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/",
    describe({
      tag: "Meta",
      summary: "What this server is; a browser is led to its page",
      isOpen: true,
      answer: Root,
      bodiless: { 302: "For a browser: the way to the console, or to the page of all routes" },
    }),
    (context) => {
      const isBrowser = (context.req.header("accept") ?? "").includes("text/html");
      if (isBrowser) return context.redirect(hasConsole ? "/console/" : "/docs");
      return context.json({
        name: "millrace",
        version: versions.millrace,
        description: "A server for durable agent workflows with the LangGraph Platform API",
        docs: "/docs",
        openapi: "/openapi.json",
        console: hasConsole ? "/console/" : null,
        health: "/health/ready",
      });
    },
  );
  routes.get(
    "/ok",
    describe({ tag: "Meta", summary: "Whether the server is up", isOpen: true, answer: Ok }),
    (context) => context.json({ ok: true }),
  );
  routes.get(
    "/info",
    describe({ tag: "Meta", summary: "What this server is", isOpen: true, answer: Info }),
    (context) =>
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

const AgentPath = z.object({ agent: z.string().describe("A graph id, or an assistant's id") });
const FilePath = AgentPath.extend({ basename: z.string() });
const Component = z.object({ name: z.string().max(1_000) });
const tag = "Assistants";
const types: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** `/ui`: UI components that graphs bring for their messages. */
export function uiRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.post(
    "/ui/:agent",
    describe({ tag, summary: "How a page loads a component", texts: ["text/html"], errors: { 404: "It has none" } }),
    path(AgentPath),
    jsonBody(Component),
    async (context) => {
      const { agent } = context.req.valid("param");
      const found = await filesOf(context, agent);
      if (found === undefined) throw notFound(`UI not found for agent "${agent}"`);
      const { name } = context.req.valid("json");
      return context.html(tagsOf(found, { host: context.req.header("host") ?? "", name }));
    },
  );

  routes.get(
    "/ui/:agent/:basename",
    describe({
      tag,
      summary: "A file of a component",
      isOpen: true,
      texts: Object.values(types),
      errors: { 404: "No such file" },
    }),
    path(FilePath),
    async (context) => {
      const { agent, basename } = context.req.valid("param");
      const file = (await filesOf(context, agent))?.files.find((one) => one.basename === basename);
      if (file === undefined) throw notFound("File not found");
      const type = types[extname(basename)] ?? "application/octet-stream";
      const contents = typeof file.contents === "string" ? file.contents : new Uint8Array(file.contents);
      return answerBody(context, contents, type);
    },
  );
  return routes;
}

async function filesOf(
  context: HttpContext,
  agent: string,
): Promise<{ id: string; files: InterfaceFile[] } | undefined> {
  const { runnable, graphs, interfaces } = servicesOf(context);
  const id = (await findAssistant(runnable, graphs, agent))?.graph_id ?? agent;
  const files = await interfaces.files(id);
  return files === undefined ? undefined : { id, files };
}

/**
 * Escapes text for an attribute in single or double quotes. Only single quotes are escaped: URLs have no double ones.
 */
function escaped(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;" };
  return text.replaceAll(/[&<>']/gu, (character) => entities[character] ?? "");
}

/** The elements that load an interface and show a component; the page fills in `{{shadowRootId}}`. */
function tagsOf({ id, files }: { id: string; files: InterfaceFile[] }, target: { host: string; name: string }): string {
  const isLocal = /^(localhost|127\.0\.0\.1)(:|$)/u.test(target.host);
  const base = escaped(`${isLocal ? "http:" : ""}//${encodeURI(target.host)}/ui/${encodeURIComponent(id)}`);
  const call = `${globalOf(id)}.render(${JSON.stringify(target.name)}, "{{shadowRootId}}")`;
  const tags = files.flatMap(({ basename }) => {
    if (extname(basename) === ".css") return [`<link rel="stylesheet" href="${base}/${basename}" />`];
    if (basename !== "entrypoint.js") return [];
    return [`<script src="${base}/${basename}" onload='${escaped(call)}'></script>`];
  });
  return tags.join("\n");
}
