import { Hono } from "hono";
import { z } from "zod";
import { findAssistant } from "../../../graphs/load.ts";
import type { Assistant } from "../../../storage/records.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment, type HttpServices } from "../../environment.ts";
import { notFound } from "../../errors.ts";
import { jsonBody, path, query } from "../../validate.ts";

const AssistantPath = z.object({ assistant_id: z.string().min(1) });
const RpcRequest = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: z.union([z.string(), z.number().int()]).nullish(),
    method: z.string().describe("message/send, message/stream, tasks/get, tasks/cancel, tasks/resubscribe"),
    params: z.looseObject({}).optional(),
  })
  .meta({ ref: "A2aRequest" });
const RpcAnswer = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: z.union([z.string(), z.number().int()]).nullable(),
    result: z.unknown().optional(),
    error: z.looseObject({ code: z.number().int(), message: z.string() }).optional(),
  })
  .meta({ ref: "A2aAnswer" });
const Card = z.looseObject({ name: z.string(), description: z.string() }).meta({ ref: "AgentCard" });

const tag = "A2A";
const notThere = { 404: "No such assistant" };

/** `/a2a/:assistant_id`: each assistant as an agent of the A2A protocol. The library is loaded on the first request. */
export function a2aRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.get(
    "/.well-known/agent-card.json",
    describe({ tag, summary: "Get the agent card of an assistant", answer: Card, errors: notThere }),
    query(z.object({ assistant_id: z.string().min(1) })),
    async (context) => {
      const services = servicesOf(context);
      const assistant = await assistantFor(services, context.req.valid("query").assistant_id);
      const { respondCard } = await import("../../a2a/answer.ts");
      return respondCard(services, context, assistant);
    },
  );

  routes.get(
    "/a2a/:assistant_id/.well-known/agent-card.json",
    describe({ tag, summary: "Get the agent card of an assistant, below its address", answer: Card, errors: notThere }),
    path(AssistantPath),
    async (context) => {
      const services = servicesOf(context);
      const assistant = await assistantFor(services, context.req.valid("param").assistant_id);
      const { respondCard } = await import("../../a2a/answer.ts");
      return respondCard(services, context, assistant);
    },
  );

  routes.post(
    "/a2a/:assistant_id",
    describe({
      tag,
      summary: "Send a message to an assistant, or ask for a task; streams are server-sent events",
      answer: RpcAnswer,
      headers: ["Idempotency-Key", "Last-Event-ID"],
      setsPositionHeader: true,
      errors: {
        ...notThere,
        422: "The Idempotency-Key came with another request",
        429: "Too many runs wait; Retry-After says when to come back",
      },
    }),
    path(AssistantPath),
    // Invalid requests are answered as the protocol requires.
    jsonBody(z.unknown(), RpcRequest),
    async (context) => {
      const services = servicesOf(context);
      const assistant = await assistantFor(services, context.req.valid("param").assistant_id);
      const { respondRpc } = await import("../../a2a/answer.ts");
      return respondRpc(services, context, assistant, context.req.valid("json"));
    },
  );
  return routes;
}

async function assistantFor({ runnable, graphs }: HttpServices, id: string): Promise<Assistant> {
  const assistant = await findAssistant(runnable, graphs, id);
  if (assistant === undefined) throw notFound("Assistant not found");
  return assistant;
}
