import { Hono } from "hono";
import { z } from "zod";
import { findSessions } from "../../../sessions/overview/find-sessions.ts";
import { Hit } from "../../../sessions/messages/find-words.ts";
import { defaultModel } from "../../../sessions/overview/default-model.ts";
import { readDetails, SessionDetails, SessionInfo } from "../../../sessions/overview/info.ts";
import { noSession } from "@millrace/engine/sessions/scope/guard";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { SessionName } from "@millrace/engine/sessions/messages/conversation";
import { JsonObject, SessionStatus } from "@millrace/engine/storage/records";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf, type ProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { Id, jsonBody, path } from "@millrace/engine/http/validate";

const ThreadPath = z.object({ thread_id: Id });
const InfoPatch = z.object({
  name: SessionName.nullish().describe("null: the title again that the thread has by itself"),
  description: z.string().max(2000).nullish(),
  pinned: z.boolean().nullish().describe("null: no longer"),
  archived: z.boolean().nullish(),
  read_at: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text).toISOString())
    .nullish()
    .describe("How far somebody has read it: its `updated_at` as it was shown. null: not marked"),
});
const InfoSearch = z.object({
  query: z.string().max(500).nullish().describe("Looked for in names, descriptions and messages, in any case"),
  limit: z.number().int().min(1).max(100).nullish(),
  cursor: z.number().int().min(0).nullish().describe("`next` of the answer before"),
  metadata: JsonObject.nullish(),
  status: SessionStatus.nullish(),
  graph_id: z.string().max(500).nullish(),
  pinned: z.boolean().nullish().describe("Only those that are, or only those that are not"),
  archived: z.boolean().nullish().describe("Only those that are, or only those that are not"),
  sort_by: z.enum(["created_at", "updated_at"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
});
const DetailsShape = SessionDetails.meta({ ref: "ThreadDetails" });
const FoundShape = SessionInfo.extend({
  hits: z.array(Hit).describe("Where `query` stands in its messages, the newest first; at most three"),
}).meta({ ref: "FoundThread" });
const PageShape = z.object({
  threads: z.array(FoundShape),
  next: z.number().int().nullable().describe("Where the list goes on; null at its end. A page may be short and go on"),
});
const unknownThread = { 404: "No such thread" };

/** `/threads/:id/info`: a thread's name and topic; the list of threads with both, and their search text. */
export function threadInfoRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  listRoute(routes);

  routes.get(
    "/threads/:thread_id/info",
    describe({
      tag: "Threads",
      summary: "Its name, its first words, and how full the model's window is",
      answer: DetailsShape,
      errors: unknownThread,
    }),
    path(ThreadPath),
    async (context) => answerDetails(productServicesOf(context), context, context.req.valid("param").thread_id),
  );

  routes.patch(
    "/threads/:thread_id/info",
    describe({
      tag: "Threads",
      summary: "Rename, describe, pin or archive it, or mark how far it was read; its `updated_at` stays",
      answer: DetailsShape,
      errors: unknownThread,
    }),
    path(ThreadPath),
    jsonBody(InfoPatch),
    async (context) => {
      const services = productServicesOf(context);
      const { thread_id: id } = context.req.valid("param");
      const { name, description, pinned, archived, read_at } = context.req.valid("json");
      const metadata = {
        ...(pinned !== undefined && { pinned }),
        ...(archived !== undefined && { archived }),
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        ...(read_at !== undefined && { read_at }),
      };
      await requireSession(services.storage, id);
      const updated = await services.storage.sessions.update(id, { metadata, keepsTime: true });
      if (updated === undefined) throw noSession(id);
      return answerDetails(services, context, id);
    },
  );
  return routes;
}

function listRoute(routes: HttpApp): void {
  routes.post(
    "/threads/info/search",
    describe({ tag: "Threads", summary: "List threads by name and words, the last changed first", answer: PageShape }),
    jsonBody(InfoSearch),
    async (context) => {
      const { storage } = productServicesOf(context);
      const { query, limit, cursor, metadata, graph_id, pinned, archived, status, sort_by, sort_order } =
        context.req.valid("json");
      const found = await findSessions(
        storage,
        {
          limit: limit ?? 20,
          cursor: cursor ?? 0,
          ...(query && { text: query }),
          metadata: { ...metadata, ...(graph_id && { graph_id }) },
          pinned: pinned ?? undefined,
          archived: archived ?? undefined,
          ...(status && { status }),
          ...(sort_by && { sort_by }),
          ...(sort_order && { sort_order }),
        },
        context.req.raw.signal,
      );
      return respondJson(context, { threads: found.sessions, next: found.next });
    },
  );
}

async function answerDetails(services: ProductServices, context: HttpContext, threadId: string): Promise<Response> {
  const session = await requireSession(services.storage, threadId);
  return respondJson(context, await readDetails(services, session, defaultModel(services)));
}
