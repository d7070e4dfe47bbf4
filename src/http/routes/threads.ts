import { setImmediate as nextTurn } from "node:timers/promises";
import { Hono } from "hono";
import { z } from "zod";
import { copySession } from "../../sessions/copy.ts";
import type { SessionStorage } from "../../sessions/door.ts";
import { switchSession } from "../../sessions/namespaces.ts";
import { createSession, deleteSession, readValues, requireSession } from "../../sessions/sessions.ts";
import { JsonObject, SessionStatus, type Session } from "../../storage/records.ts";
import type { SessionQuery } from "../../storage/storage.ts";
import { describe } from "../describe.ts";
import type { HttpApp, HttpEnvironment, HttpServices } from "../environment.ts";
import { notFound } from "../errors.ts";
import { answerJson, pageHeaders, selected } from "../json.ts";
import { ThreadShape } from "../shapes.ts";
import { toThread } from "../thread.ts";
import { setTtl, ThreadTtl, toWireTtl } from "../thread-ttl.ts";
import { Id, jsonBody, path, query } from "../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const ThreadCreate = z.object({
  thread_id: Id.nullish(),
  metadata: JsonObject.nullish(),
  if_exists: z.enum(["raise", "do_nothing"]).nullish(),
  ttl: ThreadTtl.nullish(),
});
const ThreadPatch = z.object({ metadata: JsonObject.nullish(), ttl: ThreadTtl.nullish() });
const ThreadQuery = z.object({ include: z.string().optional().describe("`ttl`: also how long the thread stays") });
const ThreadFilter = z.object({
  metadata: JsonObject.nullish(),
  ids: z.array(Id).nullish(),
  status: SessionStatus.nullish(),
});
const ThreadSearch = ThreadFilter.extend({
  limit: z.number().int().min(1).max(1_000).nullish(),
  offset: z.number().int().min(0).nullish(),
  sort_by: z.enum(["thread_id", "status", "created_at", "updated_at"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
  select: z.array(z.string()).nullish(),
});
const createErrors = { 404: "The id is not free, and nothing of the caller's has it", 409: "It exists" };
const unknownThread = { 404: "No such thread" };

/** `/threads`: sessions, created, found, changed, copied and deleted. */
export function threadRoutes(services: HttpServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  collectionRoutes(routes, services);
  itemRoutes(routes, services);
  return routes;
}

async function withValues(storage: SessionStorage, session: Session): Promise<object> {
  return toThread(session, await readValues(storage, session.session_id));
}

function collectionRoutes(routes: HttpApp, services: HttpServices): void {
  const { storage, config } = services;
  routes.post(
    "/threads",
    describe({ tag: "Threads", summary: "Create a thread", answer: ThreadShape, errors: createErrors }),
    jsonBody(ThreadCreate),
    async (context) => {
      const body = context.req.valid("json");
      const session = await createSession(storage, {
        session_id: body.thread_id ?? undefined,
        metadata: body.metadata ?? undefined,
        if_exists: body.if_exists ?? undefined,
      });
      const { defaultNamespace } = config.conversations;
      if (defaultNamespace !== undefined) await switchSession(services, defaultNamespace, session.session_id);
      const ttl = await setTtl(storage.ttls, session.session_id, body.ttl ?? undefined);
      return answerJson(context, { ...(await withValues(storage, session)), ...ttl });
    },
  );

  routes.post(
    "/threads/search",
    describe({ tag: "Threads", summary: "Find threads, newest first", answer: z.array(ThreadShape) }),
    jsonBody(ThreadSearch),
    async (context) => {
      const body = context.req.valid("json");
      const query = toSessionQuery(body, { limit: body.limit ?? 10, offset: body.offset ?? 0 });
      if (body.sort_by) query.sort_by = body.sort_by;
      if (body.sort_order) query.sort_order = body.sort_order;
      const { sessions, total } = await storage.sessions.search(query);
      pageHeaders(context, { offset: query.offset, total, count: sessions.length });
      // Reading the values of a page of long threads is most of the work; without them there is none.
      const isLight = body.select !== null && body.select !== undefined && !body.select.includes("values");
      const threads: object[] = [];
      for (const session of sessions) {
        threads.push(selected(isLight ? toThread(session, {}) : await withValues(storage, session), body.select));
        // A long thread is read in one piece; others are served before the next.
        if (!isLight) await nextTurn();
      }
      return answerJson(context, threads);
    },
  );

  routes.post(
    "/threads/count",
    describe({ tag: "Threads", summary: "Count threads", answer: z.number().int() }),
    jsonBody(ThreadFilter),
    async (context) => {
      const query = toSessionQuery(context.req.valid("json"), { limit: 1, offset: 0 });
      return context.json((await storage.sessions.search(query)).total);
    },
  );
}

function itemRoutes(routes: HttpApp, services: HttpServices): void {
  const { storage } = services;
  routes.get(
    "/threads/:thread_id",
    describe({ tag: "Threads", summary: "Get a thread", answer: ThreadShape, errors: unknownThread }),
    path(ThreadPath),
    query(ThreadQuery),
    async (context) => {
      const { thread_id: id } = context.req.valid("param");
      const thread = await withValues(storage, await requireSession(storage, id));
      const wantsTtl = context.req.valid("query").include?.split(",").includes("ttl") ?? false;
      return answerJson(context, wantsTtl ? { ...thread, ...toWireTtl(await storage.ttls.get(id)) } : thread);
    },
  );

  routes.patch(
    "/threads/:thread_id",
    describe({ tag: "Threads", summary: "Merge metadata into a thread", answer: ThreadShape, errors: unknownThread }),
    path(ThreadPath),
    jsonBody(ThreadPatch),
    async (context) => {
      const { thread_id: id } = context.req.valid("param");
      const { metadata, ttl } = context.req.valid("json");
      const session = await storage.sessions.update(id, { metadata: metadata ?? {} });
      if (session === undefined) throw notFound(`Thread with ID ${id} not found`);
      const changed = await setTtl(storage.ttls, id, ttl);
      return answerJson(context, { ...(await withValues(storage, session)), ...changed });
    },
  );

  routes.delete(
    "/threads/:thread_id",
    describe({ tag: "Threads", summary: "Stop a thread's runs and delete it", empty: true, errors: unknownThread }),
    path(ThreadPath),
    async (context) => {
      await deleteSession(services, context.req.valid("param").thread_id);
      return context.body(null, 204);
    },
  );

  routes.post(
    "/threads/:thread_id/copy",
    describe({ tag: "Threads", summary: "Copy a thread with its history", answer: ThreadShape, errors: unknownThread }),
    path(ThreadPath),
    async (context) =>
      answerJson(context, toThread(await copySession(services, context.req.valid("param").thread_id), undefined)),
  );
}

function toSessionQuery(filter: z.infer<typeof ThreadFilter>, page: { limit: number; offset: number }): SessionQuery {
  return {
    ...page,
    ...(filter.metadata && { metadata: filter.metadata }),
    ...(filter.ids && { ids: filter.ids }),
    ...(filter.status && { status: filter.status }),
  };
}
