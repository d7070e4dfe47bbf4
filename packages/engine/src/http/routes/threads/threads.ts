import { v7 as newId } from "@langchain/core/utils/uuid";
import { Hono } from "hono";
import { z } from "zod";
import { RunCommand } from "../../../runs/attempt/execute.ts";
import { copySession } from "../../../sessions/state/fork.ts";
import { switchSession } from "../../../sessions/namespaces.ts";
import { createSession, deleteSession, requireSession } from "../../../sessions/sessions.ts";
import { applySupersteps, type Superstep } from "../../../sessions/state/state.ts";
import { JsonObject, type Session } from "../../../storage/records.ts";
import { afterMinutes } from "../../../storage/rows.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
  type SharedServices,
} from "../../environment.ts";
import { notFound } from "../../errors.ts";
import { respondJson } from "../../responses/wire.ts";
import { ThreadShape } from "../../responses/shapes.ts";
import { readTtl, setTtl, wireThread, ThreadTtl, toThread, toWireTtl } from "../../requests/thread.ts";
import { Id, jsonBody, path, query } from "../../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const Update = z.object({ values: z.unknown().optional(), command: RunCommand.nullish(), as_node: z.string() });
const ThreadCreate = z.object({
  thread_id: Id.nullish(),
  metadata: JsonObject.nullish(),
  if_exists: z.enum(["raise", "do_nothing"]).nullish(),
  ttl: ThreadTtl.nullish(),
  supersteps: z
    .array(z.object({ updates: z.array(Update).min(1).max(10_000) }))
    .max(10_000)
    .nullish()
    .describe("States that a new thread begins with, as if its graph had come to them; metadata.graph_id says which"),
});
const ThreadPatch = z.object({ metadata: JsonObject.nullish(), ttl: ThreadTtl.nullish() });
const ThreadQuery = z.object({ include: z.string().optional().describe("`ttl`: also how long the thread stays") });
const createErrors = { 404: "The id is not free, and nothing of the caller's has it", 409: "It exists" };
const unknownThread = { 404: "No such thread" };
/** Asks for an empty response (RFC 7240). */
const minimal = "return=minimal";

/** `/threads`: sessions, created, read, changed, copied and deleted. */
export function threadRoutes(services: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  collectionRoutes(routes, services);
  itemRoutes(routes);
  return routes;
}

function collectionRoutes(routes: HttpApp, services: SharedServices): void {
  const { config } = services;
  routes.post(
    "/threads",
    describe({ tag: "Threads", summary: "Create a thread", answer: ThreadShape, errors: createErrors }),
    jsonBody(ThreadCreate),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const session = await newSession(services, body);
      const { defaultNamespace } = config.conversations;
      if (defaultNamespace !== undefined) await switchSession(services, defaultNamespace, session.session_id);
      const ttl = await ttlOf(services, session, body.ttl);
      return respondJson(context, { ...(await wireThread(services, session)), ...ttl });
    },
  );
}

/** The expiry of a thread as its creation asks for it: a new one has begun with it, a known one is given it. */
async function ttlOf(
  { storage, newSessions }: HttpServices,
  session: Session,
  wanted: z.infer<typeof ThreadCreate>["ttl"],
): Promise<ReturnType<typeof toWireTtl>> {
  const { session_id, updated_at } = session;
  if (!newSessions.has(session)) return await setTtl(storage, session_id, wanted);
  if (wanted === undefined || wanted === null) return {};
  const ttl = readTtl(wanted);
  return toWireTtl({ session_id, ...ttl, expires_at: afterMinutes(Date.parse(updated_at), ttl.minutes) });
}

/** A new session, with imported history if the request contains one. */
async function newSession(services: HttpServices, body: z.infer<typeof ThreadCreate>): Promise<Session> {
  const { storage, newSessions } = services;
  const session_id = body.thread_id ?? newId();
  const metadata = body.metadata ?? undefined;
  const supersteps: Superstep[] = (body.supersteps ?? []).map(({ updates }) => ({
    updates: updates.map(({ command, ...update }) => ({ ...update, ...(command && { command }) })),
  }));
  const isThere = supersteps.length > 0 && (await storage.sessions.get(session_id)) !== undefined;
  const session = await createSession(storage, {
    session_id,
    metadata,
    ttl: body.ttl === null || body.ttl === undefined ? body.ttl : readTtl(body.ttl),
    if_exists: body.if_exists ?? undefined,
  });
  if (isThere || supersteps.length === 0) return session;
  try {
    // The permission to create a thread includes its history.
    const parts = { graphs: services.graphs, ...newSessions.partsFor(session, services) };
    return await applySupersteps(parts, session, supersteps);
  } catch (error) {
    // Never leave a half-imported history.
    await newSessions.discard(session);
    throw error;
  }
}

function itemRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id",
    describe({ tag: "Threads", summary: "Get a thread", answer: ThreadShape, errors: unknownThread }),
    path(ThreadPath),
    query(ThreadQuery),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id: id } = context.req.valid("param");
      const thread = await wireThread(services, await requireSession(services.storage, id));
      const wantsTtl = context.req.valid("query").include?.split(",").includes("ttl") ?? false;
      return respondJson(context, wantsTtl ? { ...thread, ...toWireTtl(await services.storage.ttls.get(id)) } : thread);
    },
  );

  routes.patch(
    "/threads/:thread_id",
    describe({
      tag: "Threads",
      summary: "Merge metadata into a thread",
      answer: ThreadShape,
      bodiless: { 204: "Done, for whoever prefers return=minimal" },
      errors: unknownThread,
    }),
    path(ThreadPath),
    jsonBody(ThreadPatch),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id: id } = context.req.valid("param");
      const { metadata, ttl } = context.req.valid("json");
      const session = await services.storage.sessions.update(id, { metadata: metadata ?? {} });
      if (session === undefined) throw notFound(`Thread with ID ${id} not found`);
      const changed = await setTtl(services.storage, id, ttl);
      if (wantsLittle(context)) return context.body(null, 204, { "Preference-Applied": minimal });
      return respondJson(context, { ...(await wireThread(services, session)), ...changed });
    },
  );

  routes.delete(
    "/threads/:thread_id",
    describe({ tag: "Threads", summary: "Stop a thread's runs and delete it", empty: true, errors: unknownThread }),
    path(ThreadPath),
    async (context) => {
      const services = servicesOf(context);
      await deleteSession(services, context.req.valid("param").thread_id);
      return context.body(null, 204);
    },
  );

  routes.post(
    "/threads/:thread_id/copy",
    describe({ tag: "Threads", summary: "Copy a thread with its history", answer: ThreadShape, errors: unknownThread }),
    path(ThreadPath),
    async (context) =>
      respondJson(
        context,
        toThread(await copySession(servicesOf(context), context.req.valid("param").thread_id), undefined),
      ),
  );
}

function wantsLittle(context: HttpContext): boolean {
  const preferences = context.req.header("prefer")?.split(/[,;]\s*/u) ?? [];
  return preferences.includes(minimal);
}
