import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  type ElicitRequestFormParams,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { explain, isAppError } from "../../errors/errors.ts";
import type { Language } from "../../language.ts";
import type { Question } from "../../sessions/questions/questions.ts";
import { type HttpServices, versions } from "../environment.ts";
import { callAssistant, type Caller, type Decision } from "./call-assistant.ts";
import { z } from "zod";
import { findAssistant } from "../../graphs/load.ts";
import type { Assistant } from "../../storage/records.ts";
import type { EventStore } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";

/** Milliseconds for a person's answer; after that, the call returns the pending question. */
const maxQuestionLength = 30 * 60_000;

/** The input of one client's server: the caller's services, and facts from its requests. */
export interface ClientOfServer {
  services: HttpServices;
  headers: Record<string, string>;
  requestId: string;
  language: Language;
}

/** The MCP server for one client: each assistant visible to the caller is a tool. Connect it to a transport. */
export function createMcpServer(client: ClientOfServer): Server {
  const server = new Server(
    { name: "millrace", title: "Millrace", version: versions.millrace },
    {
      capabilities: { tools: {} },
      instructions:
        "Each tool runs an assistant. A result has a thread_id: give it with the next call to go on in the same conversation.",
    },
  );
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }, { signal }) =>
    listTools(client.services, params?.cursor, signal),
  );
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, { signal, requestId, _meta, sendNotification }) => {
      const { services, headers, requestId: httpId, language } = client;
      const assistant = await assistantOf(services, params.name);
      if (assistant === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
      const progressToken = _meta?.progressToken;
      const caller: Caller = {
        headers,
        requestId: httpId,
        language,
        signal,
        progress:
          progressToken === undefined
            ? undefined
            : async (progress, message) =>
                sendNotification({ method: "notifications/progress", params: { progressToken, progress, message } }),
        ask:
          server.getClientCapabilities()?.elicitation === undefined
            ? undefined
            : async (question, text) => {
                const options = { relatedRequestId: requestId, signal, timeout: maxQuestionLength };
                const { action, content } = await server.elicitInput(formOf(question, text), options);
                return action === "accept" ? decisionOf(question, content ?? {}) : declined(question, action);
              },
      };
      try {
        return await callAssistant(services, assistant, params.arguments ?? {}, caller);
      } catch (error) {
        if (!isAppError(error)) throw error;
        return { isError: true, content: [{ type: "text", text: explain(error) }] };
      }
    },
  );
  return server;
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
  if (actions.length === 0) return { kind: "answered", value: content["answer"] };
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

/** Events kept for a client to resume from, over all its streams. */
const maxEvents = 1_000;

/** The newest events of one client's streams, so that it misses nothing after a broken connection (`Last-Event-ID`). */
export function createEventStore(): EventStore {
  const events: { id: string; streamId: string; message: Parameters<EventStore["storeEvent"]>[1] }[] = [];
  let last = 0;
  return {
    async storeEvent(streamId, message) {
      last += 1;
      const id = String(last);
      events.push({ id, streamId, message });
      if (events.length > maxEvents) events.shift();
      return id;
    },
    async getStreamIdForEventId(id) {
      return events.find((event) => event.id === id)?.streamId;
    },
    async replayEventsAfter(id, { send }) {
      const at = events.findIndex((event) => event.id === id);
      const streamId = events[at]?.streamId ?? "";
      for (const event of events.slice(at + 1)) if (event.streamId === streamId) await send(event.id, event.message);
      return streamId;
    },
  };
}
