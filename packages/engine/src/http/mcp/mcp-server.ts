import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type ElicitRequestFormParams,
} from "@modelcontextprotocol/sdk/types.js";
import { isAppError, explain } from "../../errors/errors.ts";
import type { Language } from "../../language.ts";
import type { Question } from "../../sessions/questions/questions.ts";
import type { HttpServices } from "../environment.ts";
import { versions } from "../versions.ts";
import { assistantOf, listTools } from "./assistant-tools.ts";
import { callAssistant, type Caller, type Decision } from "./call-assistant.ts";

/** Milliseconds that a person has for an answer; then the call's result says what waits. */
const longestQuestion = 30 * 60_000;

/** What a server of one client is made of: the caller's services, and what its requests said of themselves. */
export interface ClientOfServer {
  services: HttpServices;
  headers: Record<string, string>;
  language: Language;
}

/** The MCP server for one client: each assistant that the caller sees is a tool. Connect it to a transport. */
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
      const { services, headers, language } = client;
      const assistant = await assistantOf(services, params.name);
      if (assistant === undefined) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
      const progressToken = _meta?.progressToken;
      const caller: Caller = {
        headers,
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
                const options = { relatedRequestId: requestId, signal, timeout: longestQuestion };
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

/** A form for one question: a decision about actions, or words. */
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
  const isYes = content["decision"] === "approve";
  const reason = typeof content["reason"] === "string" && content["reason"] !== "" ? content["reason"] : undefined;
  const decision = isYes ? { type: "approve" } : { type: "reject", ...(reason !== undefined && { message: reason }) };
  return { kind: "answered", value: { decisions: actions.map(() => decision) } };
}

/** Who declines to answer says no to an action; who closes the form has not answered. */
function declined({ actions }: Question, action: "decline" | "cancel"): Decision {
  if (action === "cancel" || actions.length === 0) return { kind: "left" };
  return { kind: "answered", value: { decisions: actions.map(() => ({ type: "reject" })) } };
}
