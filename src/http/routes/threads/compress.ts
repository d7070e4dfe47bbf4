import { Hono } from "hono";
import { z } from "zod";
import { CompressionPreview, previewCompression, keptIds } from "../../../sessions/overview/compression.ts";
import { defaultModel } from "../../../sessions/overview/default-model.ts";
import { readMessages } from "@millrace/engine/sessions/messages/conversation";
import { lastRunOf } from "@millrace/engine/sessions/overview/last-run";
import { readValues, requireSession } from "@millrace/engine/sessions/sessions";
import type { Session } from "@millrace/engine/storage/records";
import { ChatSummaries, summariesOf } from "../../../sessions/overview/summaries.ts";
import { CompressionRequest } from "../../../state.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf, type ProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import type { RunBody } from "@millrace/engine/http/requests/run-request";
import { startRunFor, toWireRun } from "@millrace/engine/http/requests/runs";
import { RunShape } from "@millrace/engine/http/responses/shapes";
import { Id, jsonBody, path } from "@millrace/engine/http/validate";

const ThreadPath = z.object({ thread_id: Id });
const CompressBody = CompressionRequest.omit({ only: true });
const tag = "Threads";
const errors = { 404: "No such thread or message", 409: "There is nothing to compress, or the graph keeps no summary" };

/**
 * `/threads/:id/compress`: preview and run of a compression; `…/summaries`: summaries of the conversation. Messages are
 * never deleted.
 */
export function compressRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.get(
    "/threads/:thread_id/summaries",
    describe({
      tag,
      summary: "What the conversation had come to after every ten messages, oldest first, and what it comes to now",
      answer: ChatSummaries,
      errors: { 404: errors[404] },
    }),
    path(ThreadPath),
    async (context) => {
      const { storage } = productServicesOf(context);
      const { session_id: id } = await requireSession(storage, context.req.valid("param").thread_id);
      return respondJson(context, await summariesOf(id, await readValues(storage, id)));
    },
  );

  routes.post(
    "/threads/:thread_id/compress/preview",
    describe({ tag, summary: "What a compression would do; changes nothing", answer: CompressionPreview, errors }),
    path(ThreadPath),
    jsonBody(CompressBody),
    async (context) => {
      const services = productServicesOf(context);
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const request = { ...context.req.valid("json"), only: true };
      return respondJson(context, await previewCompression(services, session, request, defaultModel(services)));
    },
  );

  routes.post(
    "/threads/:thread_id/compress",
    describe({
      tag,
      summary: "Put a summary in the place of older messages of the view; answers with the run that does it",
      answer: RunShape,
      setsPositionHeader: true,
      headers: ["Idempotency-Key"],
      errors: { ...errors, 422: "The thread is busy", 429: "Too many runs wait; Retry-After says when to come back" },
    }),
    path(ThreadPath),
    jsonBody(CompressBody),
    async (context) => {
      const services = productServicesOf(context);
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const request = { ...context.req.valid("json"), only: true };
      const run = await startRunFor(services, context, session, {
        sent: { compress: request },
        body: () => compressionRun(services, session, request),
      });
      context.header("Content-Location", `/threads/${run.session_id}/runs/${run.run_id}`);
      return respondJson(context, toWireRun(run));
    },
  );
  return routes;
}

/** The request of the run that compresses. Throws what keeps it from doing so, before there is a run. */
async function compressionRun(
  services: ProductServices,
  session: Session,
  request: CompressionRequest,
): Promise<RunBody> {
  await previewCompression(services, session, request, defaultModel(services));
  const { assistant, run: last } = await lastRunOf(services.runs, session);
  const { partial: _partial, ...known } = last?.kwargs.context ?? {};
  const kept = keptIds(await readMessages(services.storage, session.session_id), request.keep_message_ids);
  return {
    assistant_id: assistant,
    // Without input, the run would resume the last one instead of starting.
    input: { messages: [] },
    context: { ...known, compress: { ...request, keep_message_ids: kept } },
    multitask_strategy: "reject",
  };
}
