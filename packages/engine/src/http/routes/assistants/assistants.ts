import { Hono } from "hono";
import { z } from "zod";
import type { Graphs } from "../../../graphs/load.ts";
import { requireAssistant } from "../../../sessions/assistants.ts";
import type { AssistantQuery } from "../../../storage/record-stores.ts";
import { JsonObject, type Assistant } from "../../../storage/records.ts";
import { AssistantShape, toWireAssistant } from "../../responses/shapes.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment, type SharedServices } from "../../environment.ts";
import { respondJson, pageHeaders, selected } from "../../responses/wire.ts";
import { FieldNames, jsonBody, path, query, QueryFlag } from "../../validate.ts";

const AssistantPath = z.object({ assistant_id: z.string().describe("A UUID or a graph id") });
const SubgraphPath = AssistantPath.extend({ namespace: z.string() });
const AssistantFilter = z.object({
  graph_id: z.string().nullish(),
  name: z.string().nullish().describe("Any part of the name, in any case"),
  metadata: JsonObject.nullish(),
});
const AssistantSearch = AssistantFilter.extend({
  limit: z.number().int().min(1).max(1_000).nullish(),
  offset: z.number().int().min(0).nullish(),
  sort_by: z.enum(["assistant_id", "graph_id", "created_at", "updated_at", "name"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
  select: FieldNames.nullish(),
});
const GraphQuery = z.object({ xray: z.union([QueryFlag, z.coerce.number().int().min(0).max(100)]).optional() });
const RecurseQuery = z.object({ recurse: QueryFlag.optional() });
const errors = { 404: "No such assistant" };
const GraphShape = z
  .object({
    graph_id: z.string(),
    is_served: z.boolean(),
    problem: z
      .object({ module: z.string().describe("As the langgraph.json names it"), message: z.string() })
      .nullable()
      .describe("Why it is not served"),
  })
  .meta({ ref: "Graph" });
const JsonSchemas = z.record(z.string(), z.unknown());

/** `/assistants`: the graphs this server offers, their drawings and their schemas. */
export function assistantRoutes(services: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  collectionRoutes(routes, services);
  itemRoutes(routes, services);
  subgraphRoutes(routes, services);
  return routes;
}

function collectionRoutes(routes: HttpApp, { graphs }: SharedServices): void {
  routes.get(
    "/graphs",
    describe({
      tag: "Assistants",
      summary: "The graphs of the langgraph.json, and why some are not served",
      answer: z.array(GraphShape),
    }),
    async (context) => {
      // Callers without permission to search assistants are refused here, too.
      await servicesOf(context).storage.assistants.search({ limit: 1, offset: 0 }, graphs.assistants());
      const served = graphs.ids().map((graph_id) => ({ graph_id, is_served: true, problem: null }));
      const others = graphs.problems.map(({ graph_id, ...problem }) => ({ graph_id, is_served: false, problem }));
      return respondJson(context, [...served, ...others] satisfies z.infer<typeof GraphShape>[]);
    },
  );

  routes.post(
    "/assistants/search",
    describe({ tag: "Assistants", summary: "Find assistants", answer: z.array(AssistantShape) }),
    jsonBody(AssistantSearch),
    async (context) => {
      const { storage } = servicesOf(context);
      const body = context.req.valid("json");
      const query = { ...queryOf(body), limit: body.limit ?? 10, offset: body.offset ?? 0 };
      if (body.sort_by) query.sort_by = body.sort_by;
      if (body.sort_order) query.sort_order = body.sort_order;
      const { assistants, total } = await storage.assistants.search(query, graphs.assistants());
      pageHeaders(context, { offset: query.offset, total, count: assistants.length });
      return respondJson(
        context,
        assistants.map((assistant) => selected(toWireAssistant(assistant), body.select)),
      );
    },
  );

  routes.post(
    "/assistants/count",
    describe({ tag: "Assistants", summary: "Count assistants", answer: z.number().int() }),
    jsonBody(AssistantFilter),
    async (context) => {
      const { storage } = servicesOf(context);
      const query = { ...queryOf(context.req.valid("json")), limit: 1, offset: 0 };
      return context.json((await storage.assistants.search(query, graphs.assistants())).total);
    },
  );
}

function queryOf(filter: z.infer<typeof AssistantFilter>): Omit<AssistantQuery, "limit" | "offset"> {
  return {
    graph_id: filter.graph_id ?? undefined,
    name: filter.name ?? undefined,
    metadata: filter.metadata ?? undefined,
  };
}

function itemRoutes(routes: HttpApp, services: SharedServices): void {
  const { graphs } = services;
  routes.get(
    "/assistants/:assistant_id",
    describe({ tag: "Assistants", summary: "Get an assistant", answer: AssistantShape, errors }),
    path(AssistantPath),
    async (context) =>
      respondJson(
        context,
        toWireAssistant(await requireAssistant(servicesOf(context), context.req.valid("param").assistant_id)),
      ),
  );

  routes.get(
    "/assistants/:assistant_id/graph",
    describe({ tag: "Assistants", summary: "The drawing: nodes and edges", answer: JsonSchemas, errors }),
    path(AssistantPath),
    query(GraphQuery),
    async (context) => {
      const services = servicesOf(context);
      const assistant = await requireAssistant(services, context.req.valid("param").assistant_id);
      return respondJson(context, await graphs.drawing(assistant, context.req.valid("query").xray ?? false));
    },
  );

  routes.get(
    "/assistants/:assistant_id/schemas",
    describe({
      tag: "Assistants",
      summary: "JSON Schemas of input, output, state and config",
      answer: JsonSchemas,
      errors,
    }),
    path(AssistantPath),
    async (context) => {
      const services = servicesOf(context);
      const { graph_id } = await requireAssistant(services, context.req.valid("param").assistant_id);
      return respondJson(context, { graph_id, ...(await graphs.schemas(graph_id, context.req.raw.signal)) });
    },
  );
}

function subgraphRoutes(routes: HttpApp, services: SharedServices): void {
  const { graphs } = services;
  const subgraphs = describe({ tag: "Assistants", summary: "Schemas of the subgraphs", answer: JsonSchemas, errors });
  routes.get(
    "/assistants/:assistant_id/subgraphs",
    subgraphs,
    path(AssistantPath),
    query(RecurseQuery),
    async (context) => {
      const services = servicesOf(context);
      const assistant = await requireAssistant(services, context.req.valid("param").assistant_id);
      return respondJson(
        context,
        await subgraphSchemas(graphs, assistant, { ...context.req.valid("query"), signal: context.req.raw.signal }),
      );
    },
  );
  routes.get(
    "/assistants/:assistant_id/subgraphs/:namespace",
    subgraphs,
    path(SubgraphPath),
    query(RecurseQuery),
    async (context) => {
      const services = servicesOf(context);
      const { assistant_id, namespace } = context.req.valid("param");
      const assistant = await requireAssistant(services, assistant_id);
      const { recurse } = context.req.valid("query");
      return respondJson(
        context,
        await subgraphSchemas(graphs, assistant, { namespace, recurse, signal: context.req.raw.signal }),
      );
    },
  );
}

/** The wire's names for the schemas of a subgraph. */
async function subgraphSchemas(
  graphs: Graphs,
  assistant: Assistant,
  wanted: Parameters<Graphs["subgraphSchemas"]>[1],
): Promise<Record<string, unknown>> {
  const found = await graphs.subgraphSchemas(assistant, wanted);
  return Object.fromEntries(
    Object.entries(found).map(([name, schemas]) => [
      name,
      {
        state: schemas.state_schema,
        input: schemas.input_schema,
        output: schemas.output_schema,
        config: schemas.config_schema,
        context: schemas.context_schema,
      },
    ]),
  );
}
