import { Hono } from "hono";
import { z } from "zod";
import { type CheckpointReference, readHistory, readState, updateState } from "../../../sessions/state/state.ts";
import { requireSession } from "../../../sessions/sessions.ts";
import { JsonObject } from "../../../storage/records.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment } from "../../environment.ts";
import { notFound } from "../../errors.ts";
import { respondJson, selectState } from "../../responses/wire.ts";
import { namesInQuery } from "../../responses/frames.ts";
import { StateUpdateShape, ThreadShape, ThreadStateShape } from "../../responses/shapes.ts";
import { wireThread, toCheckpoint, toThreadState } from "../../requests/thread.ts";
import { FieldNames, Id, jsonBody, path, query, QueryFlag } from "../../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const CheckpointPath = ThreadPath.extend({ checkpoint_id: Id });
const StateQuery = z.object({
  subgraphs: QueryFlag.optional(),
  select: z.string().optional().describe("Names of fields, `values.<key>` for one key of the values; may be repeated"),
});
const Select = FieldNames.nullish();
const Checkpoint = z.looseObject({
  checkpoint_id: Id.nullish(),
  checkpoint_ns: z.string().nullish(),
  checkpoint_map: JsonObject.nullish(),
});
const StateAtCheckpoint = z.object({
  checkpoint: Checkpoint,
  // The SDK sends a boolean, older versions a string.
  subgraphs: z.union([z.boolean(), QueryFlag]).nullish(),
  select: Select,
});
const StateUpdate = z.object({
  values: z.union([JsonObject, z.array(JsonObject).max(10_000)]).nullish(),
  as_node: z.string().nullish(),
  checkpoint: Checkpoint.nullish(),
  checkpoint_id: Id.nullish(),
});
const Configuration = z.looseObject({ configurable: z.looseObject({ checkpoint_id: Id }) });
const Before = z.union([Id, Configuration, Checkpoint]);
const HistoryBody = z.object({
  limit: z.number().int().min(1).max(1_000).nullish(),
  before: Before.nullish(),
  metadata: JsonObject.nullish(),
  checkpoint: Checkpoint.nullish(),
  select: Select,
});
const HistoryQuery = z.object({ limit: z.coerce.number().int().min(1).max(1_000).optional(), before: Id.optional() });
const MetadataPatch = z.object({ metadata: JsonObject });
const errors = { 404: "No such thread, checkpoint or graph" };

/** `/threads/:id/state` and `/history`: a session's current and earlier states, and updates from outside. */
export function threadStateRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  readingRoutes(routes);
  updateRoute(routes);
  metadataRoute(routes);
  historyRoutes(routes);
  return routes;
}

function readingRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/state",
    describe({ tag: "Thread state", summary: "The newest state", answer: ThreadStateShape, errors }),
    path(ThreadPath),
    query(StateQuery),
    async (context) => {
      const services = servicesOf(context);
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const state = await readState(services, session, {}, context.req.valid("query").subgraphs);
      return respondJson(context, selectState(toThreadState(state), namesInQuery(context, "select")));
    },
  );

  routes.get(
    "/threads/:thread_id/state/:checkpoint_id",
    describe({ tag: "Thread state", summary: "The state at a checkpoint", answer: ThreadStateShape, errors }),
    path(CheckpointPath),
    query(StateQuery),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id, checkpoint_id } = context.req.valid("param");
      const session = await requireSession(services.storage, thread_id);
      const state = await readState(services, session, { checkpoint_id }, context.req.valid("query").subgraphs);
      return respondJson(context, selectState(toThreadState(state), namesInQuery(context, "select")));
    },
  );

  routes.post(
    "/threads/:thread_id/state/checkpoint",
    describe({
      tag: "Thread state",
      summary: "The state at a checkpoint of a subgraph",
      answer: ThreadStateShape,
      errors,
    }),
    path(ThreadPath),
    jsonBody(StateAtCheckpoint),
    async (context) => {
      const services = servicesOf(context);
      const { checkpoint, subgraphs, select } = context.req.valid("json");
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const state = await readState(services, session, toReference(checkpoint), subgraphs ?? false);
      return respondJson(context, selectState(toThreadState(state), select));
    },
  );
}

function updateRoute(routes: HttpApp): void {
  routes.post(
    "/threads/:thread_id/state",
    describe({
      tag: "Thread state",
      summary: "Change the state, as if a node had returned the values; null forks",
      answer: StateUpdateShape,
      errors: { ...errors, 409: "A run is active" },
    }),
    path(ThreadPath),
    jsonBody(StateUpdate),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const reference = toReference(body.checkpoint, body.checkpoint_id);
      const written = await updateState(services, session.session_id, {
        values: body.values,
        as_node: body.as_node ?? undefined,
        checkpoint: reference,
      });
      // LangGraph's name and the one in the SDK's types.
      return context.json({ checkpoint: toCheckpoint(written), configurable: toCheckpoint(written) });
    },
  );
}

/** The SDK's `patchState` patches the thread's metadata (SDK 1.15). */
function metadataRoute(routes: HttpApp): void {
  routes.patch(
    "/threads/:thread_id/state",
    describe({
      tag: "Thread state",
      summary: "Merge metadata into the thread",
      answer: ThreadShape,
      errors: { 404: "No such thread" },
    }),
    path(ThreadPath),
    jsonBody(MetadataPatch),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id: id } = context.req.valid("param");
      const session = await services.storage.sessions.update(id, context.req.valid("json"));
      if (session === undefined) throw notFound(`Thread with ID ${id} not found`);
      return respondJson(context, await wireThread(services, session));
    },
  );
}

function historyRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/history",
    describe({ tag: "Thread state", summary: "The states, newest first", answer: z.array(ThreadStateShape), errors }),
    path(ThreadPath),
    query(HistoryQuery),
    async (context) => {
      const services = servicesOf(context);
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const { limit = 10, before } = context.req.valid("query");
      const states = await readHistory(services, session, { limit, before, checkpoint: {} });
      return respondJson(context, states.map(toThreadState));
    },
  );

  routes.post(
    "/threads/:thread_id/history",
    describe({
      tag: "Thread state",
      summary: "The states, filtered, newest first",
      answer: z.array(ThreadStateShape),
      errors,
    }),
    path(ThreadPath),
    jsonBody(HistoryBody),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const states = await readHistory(services, session, {
        limit: body.limit ?? 10,
        before: idOf(body.before),
        metadata: body.metadata ?? undefined,
        checkpoint: toReference(body.checkpoint),
      });
      return respondJson(
        context,
        states.map((state) => selectState(toThreadState(state), body.select)),
      );
    },
  );
}

function toReference(
  checkpoint: z.infer<typeof Checkpoint> | null | undefined,
  checkpointId?: string | null,
): CheckpointReference {
  return {
    checkpoint_id: checkpoint?.checkpoint_id ?? checkpointId ?? undefined,
    checkpoint_ns: checkpoint?.checkpoint_ns ?? undefined,
    checkpoint_map: checkpoint?.checkpoint_map ?? undefined,
  };
}

/** The SDK gives the checkpoint to start before as an id, a checkpoint, or a whole configuration. */
function idOf(before: z.infer<typeof Before> | null | undefined): string | undefined {
  if (before === null || before === undefined || typeof before === "string") return before ?? undefined;
  const configuration = Configuration.safeParse(before).data;
  // A checkpoint may have any other keys, `configurable` among them.
  return configuration?.configurable.checkpoint_id ?? Checkpoint.parse(before).checkpoint_id ?? undefined;
}
