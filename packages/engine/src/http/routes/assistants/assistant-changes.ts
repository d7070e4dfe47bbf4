import { Hono } from "hono";
import { z } from "zod";
import { findAssistant } from "../../../graphs/load.ts";
import {
  assistantVersions,
  changeAssistant,
  createAssistant,
  deleteAssistant,
  requireAssistant,
  useVersion,
} from "../../../sessions/assistants.ts";
import { AssistantConfig } from "../../../runs/admission/run-config.ts";
import { JsonObject, type Assistant } from "../../../storage/records.ts";
import { AssistantShape, AssistantVersionShape, toWireAssistant } from "../../responses/shapes.ts";
import { describe } from "../../describe.ts";
import {
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
  requireAdministration,
  servicesOf,
} from "../../environment.ts";
import { notFound } from "../../errors.ts";
import { respondJson } from "../../responses/wire.ts";
import { Id, jsonBody, path, query, QueryFlag } from "../../validate.ts";

const AssistantPath = z.object({ assistant_id: z.string().describe("A UUID or a graph id") });
const AssistantCreate = z.object({
  graph_id: z.string().min(1),
  assistant_id: Id.nullish(),
  config: AssistantConfig.nullish(),
  context: JsonObject.nullish(),
  metadata: JsonObject.nullish(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  if_exists: z.enum(["raise", "do_nothing"]).nullish(),
});
const AssistantPatch = z.object({
  graph_id: z.string().min(1).nullish(),
  config: AssistantConfig.nullish(),
  context: JsonObject.nullish(),
  metadata: JsonObject.nullish().describe("Merged into what is there; all else is replaced"),
  name: z.string().nullish(),
  description: z.string().nullish(),
});
const DeleteQuery = z.object({
  delete_threads: QueryFlag.optional().describe("Also the threads whose metadata names it"),
});
const VersionSearch = z.object({
  limit: z.number().int().min(1).max(1_000).nullish(),
  offset: z.number().int().min(0).nullish(),
  metadata: JsonObject.nullish(),
});
const Latest = z.object({ version: z.number().int() });
const tag = "Assistants";
const notThere = { 404: "No such assistant, or a graph that is not served" };
const notAllowed = { 403: "It is a graph's own, and the caller may not change what all owners share" };

/** `/assistants`: users' assistants, in versions. */
export function assistantChangeRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  creatingRoutes(routes);
  deletingRoute(routes);
  versionRoutes(routes);
  return routes;
}

/** An assistant that this caller may change. */
async function requireOwn(context: HttpContext, idOrGraphId: string): Promise<Assistant> {
  const assistant = await requireAssistant(servicesOf(context), idOrGraphId);
  if (assistant.is_system) requireAdministration(context);
  return assistant;
}

/** The fields with a value; `null` means absent. */
function given<Fields extends object>(fields: Fields): { [Name in keyof Fields]: NonNullable<Fields[Name]> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  // The remaining fields are the same, without empty ones.
  return Object.fromEntries(entries) as { [Name in keyof Fields]: NonNullable<Fields[Name]> };
}

function creatingRoutes(routes: HttpApp): void {
  routes.post(
    "/assistants",
    describe({
      tag,
      summary: "Make an assistant of a graph",
      answer: AssistantShape,
      errors: { 404: "The graph is not served", 409: "The id is taken" },
    }),
    jsonBody(AssistantCreate),
    async (context) =>
      respondJson(
        context,
        toWireAssistant(await createAssistant(servicesOf(context), given(context.req.valid("json")))),
      ),
  );

  routes.patch(
    "/assistants/:assistant_id",
    describe({ tag, summary: "Make the next version", answer: AssistantShape, errors: { ...notThere, ...notAllowed } }),
    path(AssistantPath),
    jsonBody(AssistantPatch),
    async (context) => {
      const services = servicesOf(context);
      const assistant = await requireOwn(context, context.req.valid("param").assistant_id);
      return respondJson(
        context,
        toWireAssistant(await changeAssistant(services, assistant, given(context.req.valid("json")))),
      );
    },
  );
}

function deletingRoute(routes: HttpApp): void {
  routes.delete(
    "/assistants/:assistant_id",
    describe({
      tag,
      summary: "Delete an assistant with its versions and runs",
      answer: z.array(z.string()),
      errors: { ...notThere, 403: "It is a graph's own" },
    }),
    path(AssistantPath),
    query(DeleteQuery),
    async (context) => {
      const services = servicesOf(context);
      const assistant = await requireOwn(context, context.req.valid("param").assistant_id);
      await deleteCrons(services, assistant);
      await deleteAssistant(services, assistant, context.req.valid("query").delete_threads ?? false);
      return context.json([assistant.assistant_id]);
    },
  );
}

/** They would start runs of a deleted assistant. */
async function deleteCrons({ crons }: HttpServices, { assistant_id, is_system }: Assistant): Promise<void> {
  if (is_system) return;
  for (;;) {
    const { crons: found } = await crons.search({ assistant_id, limit: 100, offset: 0 });
    if (found.length === 0) return;
    for (const { cron_id } of found) await crons.delete(cron_id);
  }
}

function versionRoutes(routes: HttpApp): void {
  routes.post(
    "/assistants/:assistant_id/versions",
    describe({
      tag,
      summary: "List the versions, newest first",
      answer: z.array(AssistantVersionShape),
      errors: notThere,
    }),
    path(AssistantPath),
    jsonBody(VersionSearch),
    async (context) => {
      const services = servicesOf(context);
      const { assistant_id: id } = context.req.valid("param");
      const { limit, offset, metadata } = context.req.valid("json");
      const assistant = await findAssistant(services.storage, services.graphs, id);
      if (assistant === undefined) throw notFound(`Assistant "${id}" not found.`);
      const page = { limit: limit ?? 10, offset: offset ?? 0, metadata: metadata ?? undefined };
      return respondJson(context, await assistantVersions(services, assistant, page));
    },
  );

  routes.post(
    "/assistants/:assistant_id/latest",
    describe({
      tag,
      summary: "Put a version in use",
      answer: AssistantShape,
      errors: { 404: "No such assistant or version", ...notAllowed },
    }),
    path(AssistantPath),
    jsonBody(Latest),
    async (context) => {
      const services = servicesOf(context);
      const assistant = await requireOwn(context, context.req.valid("param").assistant_id);
      return respondJson(
        context,
        toWireAssistant(await useVersion(services, assistant, context.req.valid("json").version)),
      );
    },
  );
}
