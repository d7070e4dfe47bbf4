import { Hono } from "hono";
import { z } from "zod";
import type { Language } from "@millrace/engine/language";
import { statusText } from "@millrace/models/ollama/advice";
import { ollamaStatuses } from "@millrace/models/ollama/health";
import { titleOf, type InstalledModel } from "@millrace/models/ollama/installed-model";
import { recommendedModels } from "@millrace/models/ollama/recommended-models";
import type { OllamaState } from "@millrace/models/ollama/service";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import type { SharedProductServices } from "../../product-services.ts";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import { newsFrame, sendNews } from "@millrace/engine/http/responses/news";
import { path } from "@millrace/engine/http/validate";

const StateShape = z
  .object({
    status: z.enum(ollamaStatuses),
    version: z.string().nullable(),
    address: z.string(),
    message: z.string().describe("In the language of Accept-Language: English or Chinese"),
    suggestion: z.string().nullable().describe("What to do, in the same language"),
    detail: z.string().nullable().describe("What went wrong, in English"),
    models: z.number().int().describe("How many are installed, by the last look at a service that ran"),
    checked_at: z.string(),
    reconnect_attempt: z.number().int().nullable().describe("Of 3, after 5, 10 and 30 s, when the service was lost"),
  })
  .meta({ ref: "OllamaStatus" });
const ModelShape = z
  .object({
    name: z.string(),
    model: z.string().describe("The name under which runs choose it"),
    title: z.string().describe("Name, parameters and size"),
    size: z.number().describe("Bytes"),
    parameter_size: z.string().nullable(),
    quantization: z.string().nullable(),
    modified_at: z.string().nullable(),
    context_length: z.number().nullable().describe("Tokens that it was made for"),
    window: z.number().describe("Tokens that requests ask for, where models.yaml says nothing else"),
    supports_vision: z.boolean(),
    supports_tools: z.boolean(),
    thinks: z.boolean(),
    can_chat: z.boolean(),
  })
  .meta({ ref: "OllamaModel" });
const DetailsShape = ModelShape.extend({
  capabilities: z.array(z.string()).nullable().describe("In the server's words; null: it does not say"),
}).meta({ ref: "OllamaModelDetails" });
const ModelsShape = z.object({
  status: z
    .enum(ollamaStatuses)
    .describe("Where it is not RUNNING, the list is that of the last look that found it so"),
  models: z.array(ModelShape),
});
const RunningShape = z.object({
  status: z.enum(ollamaStatuses),
  models: z.array(
    z.object({
      name: z.string(),
      size: z.number().describe("Bytes"),
      size_vram: z.number().describe("Bytes of them on the graphics card"),
      context_length: z.number().nullable().describe("Tokens of its window, where the server says so"),
      expires_at: z.string().nullable(),
    }),
  ),
});
const RecommendedShape = z
  .object({
    name: z.string(),
    model: z.string(),
    about: z.string().describe("In the language of Accept-Language"),
    is_installed: z.boolean(),
    command: z.string().describe("Installs it"),
  })
  .meta({ ref: "OllamaRecommendedModel" });
const NamePath = z.object({ name: z.string().min(1).max(200).describe("As in the list, encoded as a part of a path") });
const tag = "Models";

/** `/ollama`: whether the local service runs, and its models. */
export function ollamaRoutes(services: SharedProductServices): HttpApp {
  const { ollama } = services;
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/ollama",
    describe({
      tag,
      summary: "Look at the local service: it is asked for its version and its list",
      answer: StateShape,
    }),
    async (context) => respondJson(context, stateOf(await ollama.check(), languageOf(context))),
  );
  listRoutes(routes, services);
  streamRoute(routes, services);
  return routes;
}

function listRoutes(routes: HttpApp, { ollama }: SharedProductServices): void {
  routes.get(
    "/ollama/models",
    describe({
      tag,
      summary: "List the installed models as they are now; they can be chosen at once",
      answer: ModelsShape,
    }),
    async (context) => {
      const { status, models } = await ollama.check();
      return respondJson(context, { status, models: models.map((model) => shapeOf(model)) });
    },
  );
  routes.get(
    "/ollama/models/:name",
    describe({
      tag,
      summary: "What the service knows of a model",
      answer: DetailsShape,
      errors: { 404: "It is not known" },
    }),
    path(NamePath),
    async (context) => {
      const { capabilities, ...model } = await ollama.show(context.req.valid("param").name, context.req.raw.signal);
      return respondJson(context, { ...shapeOf(model), capabilities });
    },
  );
  routes.get(
    "/ollama/running",
    describe({ tag, summary: "List the models that are in memory", answer: RunningShape }),
    async (context) => {
      const { status } = await ollama.check();
      const models = status === "RUNNING" ? await ollama.running(context.req.raw.signal) : [];
      return respondJson(context, { status, models });
    },
  );
  routes.get(
    "/ollama/recommended",
    describe({
      tag,
      summary: "Models that are good to begin with; nothing is asked",
      answer: z.array(RecommendedShape),
    }),
    (context) =>
      respondJson(
        context,
        recommendedModels.map(({ name, about }) => ({
          name,
          model: `ollama:${name}`,
          about: about[languageOf(context)],
          is_installed: ollama.isAvailable(name),
          command: `ollama pull ${name}`,
        })),
      ),
  );
}

/** `ollama_status` and `ollama_models`: the current state of both, then every change. */
function streamRoute(routes: HttpApp, { ollama, logger }: SharedProductServices): void {
  routes.get(
    "/ollama/stream",
    describe({ tag, summary: "Follow the local service: how it is now, then every change", events: true }),
    (context) =>
      sendNews(context, {
        path: "/ollama/stream",
        follow: (signal) => ollama.follow(signal),
        frame: newsFrame,
        logger,
      }),
  );
}

function stateOf(state: OllamaState, language: Language): z.infer<typeof StateShape> {
  const { status, version, address, problem, models, checked_at, reconnect } = state;
  return {
    status,
    version,
    address,
    ...statusText(status, language),
    detail: problem?.message ?? null,
    models: models.length,
    checked_at,
    reconnect_attempt: reconnect,
  };
}

function shapeOf(model: InstalledModel): z.infer<typeof ModelShape> {
  return { ...model, model: `ollama:${model.name}`, title: titleOf(model) };
}
