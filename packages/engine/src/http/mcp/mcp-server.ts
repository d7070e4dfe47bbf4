import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { EventStore } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  CallToolRequestSchema,
  type ElicitRequestFormParams,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type ServerNotification,
  type ServerRequest,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { z } from "zod";
import { explain, isAppError } from "../../errors/errors.ts";
import { findAssistant } from "../../graphs/load.ts";
import type { Question } from "../../sessions/questions/questions.ts";
import type { Assistant } from "../../storage/records.ts";
import { type HttpServices, versions } from "../environment.ts";
import { callAssistant, type Caller, type Decision, type StoredCall } from "./call-assistant.ts";
import { askClient, canAsk, type ClientOfServer, followCancellation } from "./client.ts";
import { takesEmptyEvents } from "./streams.ts";

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** One for all: it is never used, and takes longer to make than the rest of a server. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/**
 * The MCP server for one request of a client: each assistant visible to the caller is a tool. Connect it to a transport. What
 * a client sends later, such as an answer, reaches it through the store, since any server may get it.
 */
export function createMcpServer(client: ClientOfServer): Server {
  const { services, session } = client;
  const server = new Server(
    { name: "millrace", title: "Millrace", version: versions.millrace },
    {
      capabilities: { tools: {} },
      instructions:
        "Each tool runs an assistant. A result has a thread_id: give it with the next call to go on in the same conversation.",
      jsonSchemaValidator,
    },
  );
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }, { signal }) =>
    listTools(services, params?.cursor, signal),
  );
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const assistant = await assistantOf(services, params.name);
    if (assistant === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
    const over = new AbortController();
    if (session !== undefined) void followCancellation(server, client, extra.requestId, over.signal);
    try {
      return await callAssistant(services, assistant, params.arguments ?? {}, callerOf(server, client, extra));
    } catch (error) {
      if (!isAppError(error)) throw error;
      // This server stops, and the run goes on: without an answer the client comes back, and another server takes over.
      const hasPeers = error.code === "server" && services.cluster.serverCount > 1;
      const comesBack = client.call !== undefined && takesEmptyEvents(client.headers["mcp-protocol-version"]);
      if (hasPeers && comesBack) await server.close();
      return { isError: true, content: [{ type: "text", text: explain(error) }] };
    } finally {
      over.abort();
    }
  });
  return server;
}

/** How a call reaches its client. */
function callerOf(server: Server, client: ClientOfServer, extra: Extra): Caller {
  const { session, call, headers, requestId, language } = client;
  const { signal, _meta, sendNotification } = extra;
  const progressToken = _meta?.progressToken;
  let progress = call?.sent.filter(({ message }) => message["method"] === "notifications/progress").length ?? 0;
  return {
    headers,
    requestId,
    language,
    signal,
    call,
    progress:
      progressToken === undefined
        ? undefined
        : async (message) => {
            progress += 1;
            await sendNotification({ method: "notifications/progress", params: { progressToken, progress, message } });
          },
    ask:
      session === undefined || !canAsk(session)
        ? undefined
        : async (id, question, text) => {
            const asked = { id, params: formOf(question, text), requestId: extra.requestId };
            const answer = await askClient(server, client, asked, signal);
            if (answer === undefined) return { kind: "left" };
            const { action, content } = answer;
            return action === "accept" ? decisionOf(question, content ?? {}) : declined(question, action);
          },
  };
}

/** The form for one question: a decision about actions, or free text. */
function formOf({ actions }: Question, message: string): ElicitRequestFormParams {
  if (actions.length === 0) {
    const answer = { type: "string", title: "Answer" } as const;
    return { mode: "form", message, requestedSchema: { type: "object", properties: { answer }, required: ["answer"] } };
  }
  const decision = { type: "string", title: "Decision", enum: ["approve", "reject"] } as const;
  const reason = { type: "string", title: "Why not", description: "Told to the assistant" } as const;
  return {
    mode: "form",
    message,
    requestedSchema: { type: "object", properties: { decision, reason }, required: ["decision"] },
  };
}

function decisionOf({ actions }: Question, content: Record<string, unknown>): Decision {
  if (actions.length === 0) {
    return typeof content["answer"] === "string" ? { kind: "answered", value: content["answer"] } : { kind: "left" };
  }
  const isAffirmative = content["decision"] === "approve";
  const reason = typeof content["reason"] === "string" && content["reason"] !== "" ? content["reason"] : undefined;
  const decision = isAffirmative
    ? { type: "approve" }
    : { type: "reject", ...(reason !== undefined && { message: reason }) };
  return { kind: "answered", value: { decisions: actions.map(() => decision) } };
}

/** Declining rejects an action; closing the form is no answer. */
function declined({ actions }: Question, action: "decline" | "cancel"): Decision {
  if (action === "cancel" || actions.length === 0) return { kind: "left" };
  return { kind: "answered", value: { decisions: actions.map(() => ({ type: "reject" })) } };
}

/** Assistants in one response to `tools/list`. */
const pageSize = 100;

/** Arguments of a call besides the graph's own input. */
const ownArguments = {
  thread_id: {
    type: "string",
    description: "The conversation that goes on: the thread_id of an earlier result. Leave it out for a new one.",
  },
  resume: {
    description:
      'Answers what waits in that conversation: {"decisions": [{"type": "approve"}]}, or "reject" with a "message", for actions; else the answer itself.',
  },
} as const;

const ObjectSchema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
});

/** The tool name of an assistant: that of its graph, or for users' own assistants its name made valid. */
function toolName({ name, graph_id, assistant_id, is_system }: Assistant): string {
  const given = (is_system ? graph_id : (name ?? graph_id)).replaceAll(/[^\w-]+/gu, "_").slice(0, 50);
  return is_system && given === graph_id ? given : `${given}-${assistant_id.slice(0, 8)}`;
}

/** One page of the caller's assistants, each as a tool; `cursor` is where the page begins. */
async function listTools(
  { storage, graphs }: HttpServices,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<{ tools: Tool[]; nextCursor?: string }> {
  const offset = z.coerce.number().int().min(0).catch(0).parse(cursor);
  const query = { limit: pageSize, offset, sort_by: "created_at", sort_order: "asc" } as const;
  const { assistants, total } = await storage.assistants.search(query, graphs.assistants());
  const tools = await Promise.all(
    assistants.map(async (assistant): Promise<Tool> => {
      const { input_schema } = await graphs.schemas(assistant.graph_id, signal);
      return {
        name: toolName(assistant),
        title: assistant.name ?? assistant.graph_id,
        description: assistant.description ?? `Runs the graph ${assistant.graph_id}.`,
        inputSchema: inputSchema(input_schema),
      };
    }),
  );
  return { tools, ...(offset + pageSize < total && { nextCursor: String(offset + pageSize) }) };
}

/** The assistant of a tool; `undefined` if the caller may run none of that name. */
async function assistantOf({ storage, runnable, graphs }: HttpServices, name: string): Promise<Assistant | undefined> {
  // As a run may name it, even if rules hide the list from the user.
  const ofGraph = graphs.findAssistant(name);
  if (ofGraph !== undefined) return await findAssistant(runnable, graphs, ofGraph.assistant_id);
  const system = graphs.assistants();
  for (let offset = 0; ; offset += pageSize) {
    const { assistants, total } = await storage.assistants.search({ limit: pageSize, offset }, system);
    const found = assistants.find((assistant) => toolName(assistant) === name);
    if (found !== undefined || offset + pageSize >= total) return found;
  }
}

/** The graph's input plus the call's own arguments. Nothing is required: an answer brings no input. */
function inputSchema(input: unknown): Tool["inputSchema"] {
  const { properties, required: _required, ...rest } = ObjectSchema.parse(input ?? {});
  return { ...rest, type: "object", properties: { ...ownArguments, ...properties } };
}

/**
 * Stores the messages of a call before they are sent, so that the client misses nothing after a broken connection
 * (`Last-Event-ID`). Reading them is not the transport's part.
 */
export function eventsOf(call: StoredCall): EventStore {
  return {
    async storeEvent(_stream, message) {
      // The event without a message that begins a stream.
      const isFirst = Object.keys(message).length === 0;
      return eventId(call.id, isFirst ? 0 : await call.append({ ...message }));
    },
    replayEventsAfter: () => Promise.reject(new Error("The stream is read from the store.")),
  };
}

/** The id of a message as an event of its stream. */
export function eventId(callId: string, number: number): string {
  return `${callId}.${number}`;
}
