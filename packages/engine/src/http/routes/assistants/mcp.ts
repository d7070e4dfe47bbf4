import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { Hono } from "hono";
import { z } from "zod";
import type { McpMessage, McpSession, McpStream } from "../../../storage/cluster.ts";
import { JsonObject } from "../../../storage/records.ts";
import { readJson } from "../../validate.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpContext, type HttpEnvironment } from "../../environment.ts";
import { sendEvents } from "../../responses/sse.ts";
import { languageOf } from "../../responses/wire.ts";
import type { StoredCall } from "../../mcp/call-assistant.ts";
import type { ClientOfServer } from "../../mcp/client.ts";
import { deliverMessages, followStream, isResponse, takesEmptyEvents } from "../../mcp/streams.ts";
import { requestOrigin } from "../../requests/runs.ts";

const sessionHeader = "mcp-session-id";
/** Milliseconds between two looks for the messages of a call at another server. */
const resumeInterval = 250;

const Initialize = z.looseObject({
  method: z.literal("initialize"),
  params: z.looseObject({ capabilities: JsonObject }),
});
const ToolCall = z.looseObject({ id: z.union([z.string(), z.number()]), method: z.literal("tools/call") });

const errors = { 404: "No such MCP session: initialize again", 406: "Accept must name JSON and event streams" };

// Loaded with the first client: most servers have none.
const loadServer = () => import("../../mcp/mcp-server.ts");

/** The caller's session that a request names; `undefined` without one. */
async function sessionOf(context: HttpContext): Promise<McpSession | undefined> {
  const id = context.req.header(sessionHeader);
  const { mcp, owner } = servicesOf(context);
  return id === undefined ? undefined : await mcp.use(id, owner);
}

function clientOf(context: HttpContext, session?: McpSession, call?: StoredCall): ClientOfServer {
  return { services: servicesOf(context), ...requestOrigin(context), language: languageOf(context), session, call };
}

function refuse(context: HttpContext, status: 400 | 404 | 405 | 406, message: string): Response {
  const code = status === 404 ? -32_001 : -32_000;
  return context.json({ jsonrpc: "2.0", id: null, error: { code, message } }, status);
}

const noSession = (context: HttpContext): Response => refuse(context, 404, "Session not found");

/** Answers a message, or several. A new client gets a session; what it sends for a call elsewhere is stored for that. */
async function answerMessage(context: HttpContext): Promise<Response> {
  const message = await readJson(context);
  const [{ createMcpServer, eventsOf }, { WebStandardStreamableHTTPServerTransport }] = await Promise.all([
    loadServer(),
    import("@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"),
  ]);
  const { mcp, owner } = servicesOf(context);
  const opened = Initialize.safeParse(message).data;
  const session = opened === undefined ? await sessionOf(context) : undefined;
  if (opened === undefined && session === undefined && context.req.header(sessionHeader) !== undefined) {
    return noSession(context);
  }
  const call = session && (await beginCall(context, session, message));
  const transport = new WebStandardStreamableHTTPServerTransport(call && { eventStore: eventsOf(call) });
  await createMcpServer(clientOf(context, session, call)).connect(transport);
  const response = await transport.handleRequest(context.req.raw, { parsedBody: message });
  if (!response.ok) return response;
  if (session !== undefined) await deliverMessages(mcp, session.session_id, message);
  if (opened !== undefined) {
    const { capabilities } = opened.params;
    const session_id = newId();
    await mcp.open({ session_id, owner, capabilities });
    response.headers.set(sessionHeader, session_id);
  }
  return response;
}

/** Stores a call, so that its client can go on reading at any server; `undefined` for other messages. */
async function beginCall(
  context: HttpContext,
  { session_id }: McpSession,
  message: unknown,
): Promise<StoredCall | undefined> {
  const request = ToolCall.safeParse(message).data;
  if (request === undefined) return undefined;
  const id = newId();
  const call = await servicesOf(context).mcp.begin({ session_id, stream: id }, request);
  return { ...call, id, isTakenOver: false };
}

/** The messages of a call after the one that the client has (`Last-Event-ID`), up to the result. */
async function resumeStream(context: HttpContext): Promise<Response> {
  const session = await sessionOf(context);
  if (session === undefined) return noSession(context);
  if (context.req.header("accept")?.includes("text/event-stream") !== true) {
    return refuse(context, 406, "Not Acceptable: Client must accept text/event-stream");
  }
  const lastEventId = context.req.header("last-event-id");
  if (lastEventId === undefined) {
    context.header("allow", "POST, DELETE");
    return refuse(context, 405, "Nothing is sent beside the answers to requests");
  }
  const [, stream = "", number = ""] = /^([\w-]{36})\.(\d{1,9})$/u.exec(lastEventId) ?? [];
  const { mcp, logger } = servicesOf(context);
  const place = { session_id: session.session_id, stream };
  const known = await mcp.read(place, -1);
  if (known === undefined || known.length === 0) return refuse(context, 400, "Invalid event ID format");
  const { eventId } = await loadServer();
  return sendEvents<McpMessage>(context, {
    // A client that is cut off again before the next message has to know where it was.
    opening: takesEmptyEvents(context.req.header("mcp-protocol-version")) ? `id: ${lastEventId}\ndata: \n\n` : "",
    mayBeQuiet: true,
    open: (signal) => messagesOf(context, session, { ...place, after: Number(number) }, signal),
    async *tail() {
      // Those of a call are few.
    },
    measure: () => 0,
    frame: (event) =>
      `event: message\nid: ${eventId(stream, event.number)}\ndata: ${JSON.stringify(event.message)}\n\n`,
    headers: {},
    logger,
  });
}

/** The messages of a call as they come. If its server has ended, this one goes on with the call. */
async function* messagesOf(
  context: HttpContext,
  session: McpSession,
  { after, ...place }: McpStream & { after: number },
  signal: AbortSignal,
): AsyncGenerator<McpMessage[]> {
  const { mcp } = servicesOf(context);
  for await (const batch of followStream(mcp, place, { after: -1, signal, interval: resumeInterval })) {
    yield batch.filter(({ number }) => number > after);
    if (batch.some(({ message }) => isResponse(message))) return;
    const call = await mcp.takeOver(place);
    if (call !== undefined) await continueCall(context, session, { ...call, id: place.stream, isTakenOver: true });
  }
}

/** Goes on with a call of another server. Its messages are only stored, where the readers of its stream find them. */
async function continueCall(context: HttpContext, session: McpSession, call: StoredCall): Promise<void> {
  const [{ createMcpServer }, { JSONRPCMessageSchema }] = await Promise.all([
    loadServer(),
    import("@modelcontextprotocol/sdk/types.js"),
  ]);
  const transport: Transport = {
    start: async () => undefined,
    send: async (message) => void (await call.append({ ...message })),
    close: async () => transport.onclose?.(),
  };
  await createMcpServer(clientOf(context, session, call)).connect(transport);
  transport.onmessage?.(JSONRPCMessageSchema.parse(call.request));
}

async function endSession(context: HttpContext): Promise<Response> {
  const session = await sessionOf(context);
  if (session === undefined) return noSession(context);
  await servicesOf(context).mcp.end(session.session_id);
  return context.body(null, 200);
}

/**
 * `/mcp`: the assistants as tools of the Model Context Protocol, over streamable HTTP. A client that initializes gets a
 * session, in which it can be asked questions and resume a stream, at any server; others are answered request by request.
 */
export function mcpRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const summary = "A message of the Model Context Protocol: assistants as tools";
  routes.post("/mcp", describe({ tag: "MCP", summary, events: true, errors }), answerMessage);

  routes.get(
    "/mcp",
    describe({
      tag: "MCP",
      summary: "Last-Event-ID goes on where the stream of a call was cut",
      events: true,
      headers: ["Last-Event-ID"],
      errors: { ...errors, 405: "Without Last-Event-ID: nothing is sent beside the answers to requests" },
    }),
    resumeStream,
  );

  routes.delete(
    "/mcp",
    describe({ tag: "MCP", summary: "End a session; what it called is stopped", bodiless: { 200: "Ended" }, errors }),
    endSession,
  );
  return routes;
}
