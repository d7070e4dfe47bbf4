import { Hono } from "hono";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { describe } from "@millrace/engine/http/describe";
import {
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  requireAdministration,
} from "@millrace/engine/http/environment";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { jsonBody, path } from "@millrace/engine/http/validate";
import { routeServicesOf } from "../../../src/toolkits/route-services.ts";
import { type ListedServer, mcpKey, type McpServers } from "../mcp-servers.ts";

const Named = z.object({ name: z.string().min(1).max(100) });
const Entry = z
  .record(z.string().max(100), z.unknown())
  .describe("As in the file: command and args, or url, and what else docs/toolkits/mcp.md lists");
const ServerShape = z
  .object({
    name: z.string(),
    entry: Entry,
    is_enabled: z.boolean(),
    problem: z.string().nullable().describe("Why its entry is not used"),
    state: z
      .enum(["off", "idle", "connecting", "connected", "lost", "down"])
      .describe("off: it is not used; idle: no run has needed it yet; lost: it ended and is started by the next call"),
    since: z.string().nullable(),
    reason: z.string().nullable().describe("Why it was lost or is down"),
    tools: z.array(z.object({ name: z.string(), description: z.string() })),
  })
  .meta({ ref: "McpServer" });
const LogShape = z
  .array(
    z.object({
      at: z.string(),
      what: z.enum(["connected", "lost", "down", "tools_left_out", "list_not_read"]),
      reason: z.string().nullable(),
    }),
  )
  .describe("The newest last; since the start of this server, at most 100");
const tag = "Tools";
const own = { 403: "The caller does not administer the server" };
const known = { ...own, 404: "No such server" };

/** `/mcp/servers`: the MCP servers whose tools runs may use, for administrators. */
export function mcpServerRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  readingRoutes(routes);
  changingRoutes(routes);
  return routes;
}

function readingRoutes(routes: HttpApp): void {
  routes.get(
    "/mcp/servers",
    describe({
      tag,
      summary: "The MCP servers, each with its state and tools",
      answer: z.array(ServerShape),
      errors: own,
    }),
    (context) => respondJson(context, serversOf(context).list().map(shapeOf)),
  );
  routes.get(
    "/mcp/servers/:name/log",
    describe({ tag, summary: "What happened to an MCP server", answer: LogShape, errors: known }),
    path(Named),
    (context) => respondJson(context, [...serversOf(context).log(context.req.valid("param").name)]),
  );
}

function changingRoutes(routes: HttpApp): void {
  routes.put(
    "/mcp/servers/:name",
    describe({
      tag,
      summary: "Write an MCP server into the file; runs use it from the next one on",
      answer: ServerShape,
      errors: { ...own, 400: "The entry cannot be used", 409: "The file is broken", 507: "The disk is full" },
    }),
    path(Named),
    jsonBody(Entry),
    async (context) => {
      const servers = serversOf(context);
      const { name } = context.req.valid("param");
      const entry = context.req.valid("json");
      requireKeyForPrograms(context, servers.list().find((one) => one.name === name)?.entry ?? {}, entry);
      await servers.put(name, entry);
      return respondJson(context, one(servers, name));
    },
  );
  routes.delete(
    "/mcp/servers/:name",
    describe({ tag, summary: "Take an MCP server out of the file, and end it", empty: true, errors: known }),
    path(Named),
    async (context) => {
      await serversOf(context).remove(context.req.valid("param").name);
      return context.body(null, 204);
    },
  );
  routes.post(
    "/mcp/servers/:name/reconnect",
    describe({
      tag,
      summary: "Connect an MCP server anew; how that went is its state",
      answer: ServerShape,
      errors: { ...known, 409: "It is not used" },
    }),
    path(Named),
    async (context) => {
      const servers = serversOf(context);
      const { name } = context.req.valid("param");
      await servers.reconnect(name, context.req.raw.signal);
      return respondJson(context, one(servers, name));
    },
  );
}

function serversOf(context: HttpContext): McpServers {
  requireAdministration(context);
  return routeServicesOf(context).toolkitServices.get(mcpKey);
}

/** What says which program is started, where, and with which variables. */
const ofProgram = ["command", "args", "cwd", "env"];

/**
 * Throws 403 where another program would be started for a caller without a key: also a command that the assistant runs in
 * its sandbox reaches this port, and would leave the sandbox by it.
 */
function requireKeyForPrograms(context: HttpContext, before: object, after: object): void {
  if (context.get("caller").kind !== "anyone" || !("command" in after)) return;
  const programOf = (entry: object): string =>
    JSON.stringify(Object.entries(entry).filter(([name]) => ofProgram.includes(name)));
  if (programOf(before) === programOf(after)) return;
  throw new AppError("permission", "Without keys the program of an MCP server is not changed here.", {
    suggestion: "Write it into the file that MILLRACE_MCP names and start the server anew, or set MILLRACE_API_KEYS.",
  });
}

function one(servers: McpServers, name: string): z.infer<typeof ServerShape> {
  const listed = servers.list().find((server) => server.name === name);
  if (listed === undefined) throw new AppError("not_found", `There is no MCP server ${name}.`);
  return shapeOf(listed);
}

function shapeOf({ name, entry, problem, state }: ListedServer): z.infer<typeof ServerShape> {
  return {
    name,
    entry,
    is_enabled: entry["enabled"] !== false,
    problem,
    state: state?.now ?? "off",
    since: state?.since ?? null,
    reason: state?.reason ?? null,
    tools: [...(state?.tools ?? [])],
  };
}
