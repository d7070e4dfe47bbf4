import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { Hono } from "hono";
import { z } from "zod";
import type { Logger } from "../../../logger.ts";
import { readJson } from "../../validate.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type SharedServices,
} from "../../environment.ts";
import { languageOf } from "../../answers/wire.ts";
import { requestOrigin } from "../../requests/runs.ts";
import type { ClientOfServer } from "../../mcp/mcp-server.ts";

/** Clients kept per owner and in total. Beyond that, the least recently used one must reconnect. */
const maxOfOwner = 100;
const maxOfAll = 10_000;

const Initialize = z.looseObject({ method: z.literal("initialize") });

interface Client {
  owner: string;
  /** Of its newest request: the rules of `auth.path` may have changed the user's permissions. */
  of: ClientOfServer;
  server: Server;
  transport: WebStandardStreamableHTTPServerTransport;
}

const errors = { 404: "No such MCP session: initialize again", 406: "Accept must name JSON and event streams" };

/** The MCP clients of all callers, by session; only its owner finds a client. */
class Clients {
  readonly #logger: Logger;
  readonly #clients = new Map<string, Client>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The caller's client for the session in a request; `undefined` if there is none. */
  of(context: HttpContext): Client | undefined {
    const id = context.req.header("mcp-session-id") ?? "";
    const services = servicesOf(context);
    const client = this.#clients.get(id);
    if (client?.owner !== services.owner) return undefined;
    Object.assign(client.of, { services, ...requestOrigin(context) });
    this.#keep(id, client);
    return client;
  }

  /** A new client: for a session if `stays`, else for one request. */
  async connect(context: HttpContext, stays: boolean): Promise<Client> {
    // Loaded with the first client: most servers have none.
    const [{ createEventStore, createMcpServer }, { WebStandardStreamableHTTPServerTransport }] = await Promise.all([
      import("../../mcp/mcp-server.ts"),
      import("@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"),
    ]);
    const services = servicesOf(context);
    const of: ClientOfServer = { services, ...requestOrigin(context), language: languageOf(context) };
    const transport: WebStandardStreamableHTTPServerTransport = stays
      ? new WebStandardStreamableHTTPServerTransport({
          sessionIdGenerator: newId,
          eventStore: createEventStore(),
          onsessioninitialized: (id): void => this.#keep(id, client),
          onsessionclosed: (id) => void this.#clients.delete(id),
        })
      : new WebStandardStreamableHTTPServerTransport();
    const client: Client = { owner: services.owner, of, server: createMcpServer(of), transport };
    await client.server.connect(transport);
    return client;
  }

  #keep(id: string, client: Client): void {
    const isNew = !this.#clients.delete(id);
    this.#clients.set(id, client);
    if (!isNew) return;
    const own = [...this.#clients].filter(([, { owner }]) => owner === client.owner);
    const oldest = own.length > maxOfOwner ? own[0] : this.#clients.size > maxOfAll ? [...this.#clients][0] : undefined;
    if (oldest === undefined) return;
    this.#clients.delete(oldest[0]);
    oldest[1].server.close().catch((error: unknown) => {
      this.#logger.warn({ err: error }, "mcp_close_failed");
    });
  }
}

function noSession(context: HttpContext): Response {
  return context.json({ jsonrpc: "2.0", id: null, error: { code: -32_001, message: "Session not found" } }, 404);
}

/**
 * `/mcp`: the assistants as tools of the Model Context Protocol, over streamable HTTP. A client that initializes gets a
 * session, in which it can be asked questions and resume a stream; others are answered request by request.
 */
export function mcpRoutes({ logger }: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const clients = new Clients(logger);
  const summary = "A message of the Model Context Protocol: assistants as tools";
  routes.post("/mcp", describe({ tag: "MCP", summary, events: true, errors }), async (context) => {
    const message = await readJson(context);
    const hasSession = context.req.header("mcp-session-id") !== undefined;
    const stays = Initialize.safeParse(message).success;
    const client = hasSession ? clients.of(context) : await clients.connect(context, stays);
    return client?.transport.handleRequest(context.req.raw, { parsedBody: message }) ?? noSession(context);
  });

  routes.get(
    "/mcp",
    describe({
      tag: "MCP",
      summary: "What a session's client is told beside its requests; Last-Event-ID goes on where a stream was cut",
      events: true,
      headers: ["Last-Event-ID"],
      errors,
    }),
    async (context) => clients.of(context)?.transport.handleRequest(context.req.raw) ?? noSession(context),
  );

  routes.delete(
    "/mcp",
    describe({ tag: "MCP", summary: "End a session; what it called is stopped", bodiless: { 200: "Ended" }, errors }),
    async (context) => clients.of(context)?.transport.handleRequest(context.req.raw) ?? noSession(context),
  );
  return routes;
}
