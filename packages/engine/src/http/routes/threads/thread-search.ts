import { setImmediate as nextTurn } from "node:timers/promises";
import { Hono } from "hono";
import { z } from "zod";
import { readNewest } from "../../../runs/follow/follow.ts";
import { contains } from "../../../storage/items/contains.ts";
import { JsonObject, SessionStatus, type Session } from "../../../storage/records.ts";
import type { SessionQuery } from "../../../storage/storage.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment, type HttpServices } from "../../environment.ts";
import { extractPath, isPath, wireThread, toThread } from "../../requests/thread.ts";
import { respondJson, pageHeaders, selected, toWire } from "../../responses/wire.ts";
import { ThreadShape } from "../../responses/shapes.ts";
import { FieldNames, Id, jsonBody } from "../../validate.ts";

/** Sessions read per batch when values are requested. */
const batchSize = 50;

const ThreadFilter = z.object({
  metadata: JsonObject.nullish(),
  values: JsonObject.nullish().describe(
    "Contained in the newest state; every thread that the rest finds is read for it",
  ),
  ids: z.array(Id).max(10_000).nullish(),
  status: SessionStatus.nullish(),
});
const Path = z.string().max(200).refine(isPath, { error: "expected a path such as values.messages[-1].content" });
const ThreadSearch = ThreadFilter.extend({
  limit: z.number().int().min(1).max(1_000).nullish(),
  offset: z.number().int().min(0).nullish(),
  sort_by: z.enum(["thread_id", "status", "created_at", "updated_at", "state_updated_at"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
  select: FieldNames.nullish(),
  // Counted before each is checked, since every invalid one is reported.
  extract: JsonObject.refine((paths) => Object.keys(paths).length <= 10, { error: "at most 10 paths" })
    .pipe(z.record(z.string(), Path))
    .nullish()
    .describe("Names, and the paths in the thread of what stands under them in `extracted`"),
});
type Search = z.infer<typeof ThreadSearch>;

/** `/threads/search` and `/threads/count`: finds sessions. */
export function threadSearchRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.post(
    "/threads/search",
    describe({ tag: "Threads", summary: "Find threads, newest first", answer: z.array(ThreadShape) }),
    jsonBody(ThreadSearch),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const { limit, offset } = { limit: body.limit ?? 10, offset: body.offset ?? 0 };
      const { sessions, total } = await findSessions(services, body, { limit, offset }, context.req.raw.signal);
      pageHeaders(context, { offset, total, count: sessions.length });
      const threads: object[] = [];
      for (const session of sessions) {
        threads.push(await shown(services, session, body));
        // A long thread is read without a pause; others are served before the next.
        if (readsValues(body)) await nextTurn();
      }
      return respondJson(context, threads);
    },
  );

  routes.post(
    "/threads/count",
    describe({ tag: "Threads", summary: "Count threads", answer: z.number().int() }),
    jsonBody(ThreadFilter),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const { total } = await findSessions(services, body, { limit: 1, offset: 0 }, context.req.raw.signal);
      return context.json(total);
    },
  );
  return routes;
}

/** Reading the values of long threads is most of the work; skip it if possible. */
function readsValues({ select, extract }: Search): boolean {
  const read = ["values", "state_updated_at", "error"];
  return !select || read.some((field) => select.includes(field)) || Object.keys(extract ?? {}).length > 0;
}

async function shown(services: HttpServices, session: Session, body: Search): Promise<object> {
  const thread = readsValues(body) ? await wireThread(services, session) : toThread(session, {});
  if (!body.extract) return selected(thread, body.select);
  const wire = toWire(thread);
  const extracted = Object.entries(body.extract).map(([name, path]) => [name, extractPath(wire, path)] as const);
  return { ...selected(thread, body.select), extracted: Object.fromEntries(extracted) };
}

type Filter = z.infer<typeof ThreadFilter> & Pick<Search, "sort_by" | "sort_order">;

/** A page of matching sessions. Values are not in the rows: if requested, each session is read. */
async function findSessions(
  { storage }: Pick<HttpServices, "storage">,
  filter: Filter,
  page: { limit: number; offset: number },
  signal: AbortSignal,
): Promise<{ sessions: Session[]; total: number }> {
  const { values } = filter;
  if (!values || Object.keys(values).length === 0) return await storage.sessions.search(toQuery(filter, page));
  const sessions: Session[] = [];
  let total = 0;
  for (let offset = 0; ; offset += batchSize) {
    const batch = await storage.sessions.search(toQuery(filter, { limit: batchSize, offset }));
    for (const session of batch.sessions) {
      signal.throwIfAborted();
      const newest = await readNewest(storage, session.session_id);
      if (newest !== undefined && contains(toWire(newest.values), values)) {
        if (total >= page.offset && sessions.length < page.limit) sessions.push(session);
        total += 1;
      }
      await nextTurn();
    }
    if (batch.sessions.length < batchSize) return { sessions, total };
  }
}

function toQuery(filter: Filter, page: { limit: number; offset: number }): SessionQuery {
  return {
    ...page,
    ...(filter.metadata && { metadata: filter.metadata }),
    ...(filter.ids && { ids: filter.ids }),
    ...(filter.status && { status: filter.status }),
    ...(filter.sort_by && { sort_by: filter.sort_by }),
    ...(filter.sort_order && { sort_order: filter.sort_order }),
  };
}
