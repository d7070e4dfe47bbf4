import { Hono } from "hono";
import { z } from "zod";
import type { Assistant } from "../../storage/records.ts";
import { describe } from "../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment, type SharedServices } from "../environment.ts";
import { answerJson } from "../answers/json.ts";
import { hasMessages, requireModel } from "./turn/begin-turn.ts";
import { failing } from "./route.ts";

const Model = z
  .object({
    id: z.string(),
    object: z.literal("model"),
    created: z.number().int(),
    owned_by: z.string(),
    name: z.string().describe("As people know it; a request may say it where no other assistant bears it"),
    description: z.string().nullable(),
  })
  .meta({ ref: "OpenAiModel" });
const ModelList = z.object({ object: z.literal("list"), data: z.array(Model) });

/** Assistants that are listed: a chat program shows them in a menu. */
const mostModels = 1_000;

/** `/v1/models`: the assistants that the caller may see and talk to. */
export function modelListRoutes(services: SharedServices): HttpApp {
  const { graphs } = services;
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/v1/models",
    describe({ tag: "OpenAI", summary: "Assistants as models", answer: ModelList, ...failing }),
    async (context) => {
      const { storage } = servicesOf(context);
      const { assistants } = await storage.assistants.search({ limit: mostModels, offset: 0 }, graphs.assistants());
      const served = new Set(graphs.ids());
      const data = assistants.filter((one) => served.has(one.graph_id) && hasMessages(graphs, one)).map(toModel);
      return answerJson(context, { object: "list", data } satisfies z.infer<typeof ModelList>);
    },
  );

  routes.get(
    "/v1/models/:model",
    describe({ tag: "OpenAI", summary: "An assistant as a model", answer: Model, ...failing }),
    async (context) =>
      answerJson(context, toModel(await requireModel(servicesOf(context), context.req.param("model")))),
  );
  return routes;
}

/** Those that graphs have by themselves go by their graph. */
function toModel({
  assistant_id,
  graph_id,
  is_system,
  name,
  description,
  created_at,
}: Assistant): z.infer<typeof Model> {
  return {
    id: is_system ? graph_id : assistant_id,
    object: "model",
    created: Math.floor(Date.parse(created_at) / 1000),
    owned_by: "millrace",
    name,
    description,
  };
}
