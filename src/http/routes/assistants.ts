import { Hono } from "hono";
import { z } from "zod";
import type { Assistant } from "../../graph/assistants.ts";
import type { Graphs } from "../../graph/load.ts";
import { JsonObject } from "../../storage/records.ts";
import { contains } from "../../storage/contains.ts";
import { describe } from "../describe.ts";
import type { HttpApp, HttpEnvironment, HttpServices } from "../environment.ts";
import { notFound } from "../errors.ts";
import { answerJson, pageHeaders, selected } from "../json.ts";
import { AssistantShape } from "../shapes.ts";
import { jsonBody, path, query, QueryFlag } from "../validate.ts";

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
  select: z.array(z.string()).nullish(),
});
const GraphQuery = z.object({ xray: z.union([QueryFlag, z.coerce.number().int().min(0).max(100)]).optional() });
const RecurseQuery = z.object({ recurse: QueryFlag.optional() });
const errors = { 404: "No such assistant" };
const JsonSchemas = z.record(z.string(), z.unknown());

/** `/assistants`: the graphs this server offers, their drawings and their schemas. */
export function assistantRoutes({ graphs }: HttpServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  collectionRoutes(routes, graphs);
  itemRoutes(routes, graphs);
  return routes;
}

function collectionRoutes(routes: HttpApp, graphs: Graphs): void {
  routes.post(
    "/assistants/search",
    describe({ tag: "Assistants", summary: "Find assistants", answer: z.array(AssistantShape) }),
    jsonBody(AssistantSearch),
    (context) => {
      const body = context.req.valid("json");
      const { limit, offset } = { limit: body.limit ?? 10, offset: body.offset ?? 0 };
      const found = sorted(matching(graphs, body), body.sort_by ?? "created_at", body.sort_order ?? "desc");
      const page = found.slice(offset, offset + limit);
      pageHeaders(context, { offset, total: found.length, count: page.length });
      return answerJson(
        context,
        page.map((assistant) => selected(assistant, body.select)),
      );
    },
  );

  routes.post(
    "/assistants/count",
    describe({ tag: "Assistants", summary: "Count assistants", answer: z.number().int() }),
    jsonBody(AssistantFilter),
    (context) => context.json(matching(graphs, context.req.valid("json")).length),
  );
}

function itemRoutes(routes: HttpApp, graphs: Graphs): void {
  routes.get(
    "/assistants/:assistant_id",
    describe({ tag: "Assistants", summary: "Get an assistant", answer: AssistantShape, errors }),
    path(AssistantPath),
    (context) => answerJson(context, requireAssistant(graphs, context.req.valid("param").assistant_id)),
  );

  routes.get(
    "/assistants/:assistant_id/graph",
    describe({ tag: "Assistants", summary: "The drawing: nodes and edges", answer: JsonSchemas, errors }),
    path(AssistantPath),
    query(GraphQuery),
    async (context) => {
      const { graph_id } = requireAssistant(graphs, context.req.valid("param").assistant_id);
      return answerJson(context, await graphs.drawing(graph_id, context.req.valid("query").xray ?? false));
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
    (context) => {
      const { graph_id } = requireAssistant(graphs, context.req.valid("param").assistant_id);
      return answerJson(context, { graph_id, ...graphs.schemas(graph_id) });
    },
  );

  const subgraphs = describe({ tag: "Assistants", summary: "Schemas of the subgraphs", answer: JsonSchemas, errors });
  routes.get(
    "/assistants/:assistant_id/subgraphs",
    subgraphs,
    path(AssistantPath),
    query(RecurseQuery),
    async (context) => {
      const { graph_id } = requireAssistant(graphs, context.req.valid("param").assistant_id);
      return answerJson(
        context,
        await subgraphSchemas(graphs, graph_id, undefined, context.req.valid("query").recurse),
      );
    },
  );
  routes.get(
    "/assistants/:assistant_id/subgraphs/:namespace",
    subgraphs,
    path(SubgraphPath),
    query(RecurseQuery),
    async (context) => {
      const { assistant_id, namespace } = context.req.valid("param");
      const { graph_id } = requireAssistant(graphs, assistant_id);
      return answerJson(
        context,
        await subgraphSchemas(graphs, graph_id, namespace, context.req.valid("query").recurse),
      );
    },
  );
}

function requireAssistant(graphs: Graphs, idOrGraphId: string): Assistant {
  const assistant = graphs.findAssistant(idOrGraphId);
  if (assistant === undefined) throw notFound("Assistant not found");
  return assistant;
}

function matching(graphs: Graphs, filter: z.infer<typeof AssistantFilter>): Assistant[] {
  const name = filter.name?.toLowerCase() ?? "";
  return graphs
    .assistants()
    .filter((one) => !filter.graph_id || one.graph_id === filter.graph_id)
    .filter((one) => one.name.toLowerCase().includes(name))
    .filter((one) => contains(one.metadata, filter.metadata ?? {}));
}

type SortKey = "assistant_id" | "graph_id" | "created_at" | "updated_at" | "name";

function sorted(assistants: Assistant[], key: SortKey, order: "asc" | "desc"): Assistant[] {
  const sign = order === "asc" ? 1 : -1;
  return assistants.toSorted((one, other) => (one[key] === other[key] ? 0 : one[key] < other[key] ? -sign : sign));
}

/** The wire's names for the schemas of a subgraph (wire contract, 2.2). */
async function subgraphSchemas(
  graphs: Graphs,
  graphId: string,
  namespace: string | undefined,
  recurse = false,
): Promise<Record<string, unknown>> {
  const found = await graphs.subgraphSchemas(graphId, namespace, recurse);
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
