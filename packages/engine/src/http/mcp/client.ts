import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  type ElicitRequestFormParams,
  type ElicitResult,
  ElicitResultSchema,
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Language } from "../../language.ts";
import type { McpSession } from "../../storage/cluster.ts";
import type { HttpServices } from "../environment.ts";
import type { StoredCall } from "./call-assistant.ts";
import { addressOf, followStream } from "./streams.ts";

/** A request of a client, and what its server knows of the client. */
export interface ClientOfServer {
  services: HttpServices;
  headers: Record<string, string>;
  requestId: string;
  language: Language;
  /** Absent for a request without a session. */
  session?: McpSession | undefined;
  /** The only call of the request. */
  call?: StoredCall | undefined;
}

/** Milliseconds for a person's answer; after that, the call returns the pending question. */
const questionTimeout = 30 * 60_000;

/** Without a kind of elicitation, a client means forms. */
const Asks = z.object({
  elicitation: z.looseObject({}).refine((kinds) => "form" in kinds || !("url" in kinds), { error: "no forms" }),
});

/** Whether the client can ask its user with a form. */
export function canAsk({ capabilities }: McpSession): boolean {
  return Asks.safeParse(capabilities).success;
}

/** Passes on the cancellation of a request, and the end of its session, whichever server gets them. Never throws. */
export async function followCancellation(
  server: Server,
  { services: { mcp, logger }, session }: ClientOfServer,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<void> {
  const stream = addressOf(session?.session_id ?? "", "cancellation", requestId);
  try {
    for await (const batch of followStream(mcp, stream, { after: 0, signal })) {
      for (const { message } of batch) server.transport?.onmessage?.(JSONRPCMessageSchema.parse(message));
    }
    if (!signal.aborted) await server.close();
  } catch (error) {
    logger.error({ err: error }, "mcp_cancellation_not_followed");
  }
}

/** A question to the client within a request of it. */
interface Asked {
  id: string;
  params: ElicitRequestFormParams;
  requestId: RequestId;
}

/** The client's answer, at whichever server it arrives; `undefined` without one in time, and if the client failed to ask. */
export async function askClient(
  server: Server,
  { services: { mcp }, session, call }: ClientOfServer,
  { id, params, requestId }: Asked,
  signal: AbortSignal,
): Promise<ElicitResult | undefined> {
  const send = async (message: JSONRPCMessage): Promise<void> =>
    await server.transport?.send(message, { relatedRequestId: requestId });
  // The server before this one may have asked already.
  const isAsked = call?.sent.some(({ message }) => message["id"] === id) ?? false;
  if (!isAsked) await send({ jsonrpc: "2.0", id, method: "elicitation/create", params: { ...params } });
  const stream = addressOf(session?.session_id ?? "", "answer", id);
  const waiting = AbortSignal.any([signal, AbortSignal.timeout(questionTimeout)]);
  for await (const [answer] of followStream(mcp, stream, { after: 0, signal: waiting })) {
    if (answer !== undefined) return ElicitResultSchema.safeParse(answer.message["result"]).data;
  }
  signal.throwIfAborted();
  await send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
  return undefined;
}
