import { Hono } from "hono";
import { z } from "zod";
import { addModel, changeModel, removeModel, setRoles } from "@millrace/models/registry/change-models";
import { knownModel, knownModels, ownRules } from "@millrace/models/registry/known-models";
import { ModelName, ModelProfile, ProfilePart } from "@millrace/models/registry/model-profile";
import { RowName } from "@millrace/models/registry/model-settings";
import { isOneModel } from "@millrace/models/registry/profiles";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import { modelRoles, Roles } from "@millrace/models/registry/roles";
import { describe } from "@millrace/engine/http/describe";
import { type HttpApp, type HttpEnvironment, requireAdministration } from "@millrace/engine/http/environment";
import type { SharedProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { jsonBody, path } from "@millrace/engine/http/validate";

const ModelPath = z.object({ name: ModelName.describe("provider:name, encoded as a part of a path") });
const RowPath = z.object({ name: RowName.describe("provider:name, or provider:beginning*, encoded") });
const ModelAdd = ProfilePart.extend({ name: RowName }).meta({ ref: "ModelCreate" });
const ModelChange = ProfilePart.refine((part) => Object.keys(part).length > 0, { error: "expected a field to change" });

const ModelShape = z
  .object({
    name: z.string(),
    provider: z.string(),
    is_built_in: z.boolean(),
    own: ProfilePart.nullable().describe("What was said of just this model, beside the built-in rows and the rules"),
    profile: ModelProfile.describe("All that is known of it, put together"),
    roles: z.array(z.enum(modelRoles)),
    has_what_it_needs: z.boolean().describe("No key is missing"),
    llm_last_verified_at: z.string().nullable().describe("When it last answered a test with this address and key"),
  })
  .meta({ ref: "Model" });
const ModelsShape = z
  .object({
    models: z
      .array(ModelShape)
      .describe("Those that somebody has named; every other name of a provider can be used too"),
    rules: z.record(z.string(), ProfilePart).describe("What was said of all models whose names begin so"),
    roles: Roles.describe("Who has which role; without one of its own a role has the main model"),
    problem: z.string().nullable().describe("What is wrong with models.yaml, whose last good state counts"),
  })
  .meta({ ref: "Models" });
const tag = "Models";
const errors = { 403: "The caller may not change it", 409: "models.yaml is broken", 507: "The disk is full" };

/** `/models`: model profiles and roles. */
export function modelRoutes(services: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const { models, ollama } = services;
  routes.get(
    "/models",
    describe({ tag, summary: "List the models, rules and roles", answer: ModelsShape }),
    async (context) => {
      await ollama.checkNewAddress();
      return respondJson(context, allOf(models));
    },
  );
  roleRoutes(routes, services);
  routes.get(
    "/models/:name",
    describe({ tag, summary: "Get what is known of any model of a provider", answer: ModelShape }),
    path(ModelPath),
    (context) => respondJson(context, knownModel(models, context.req.valid("param").name)),
  );
  rowRoutes(routes, services);
  return routes;
}

function roleRoutes(routes: HttpApp, { models }: SharedProductServices): void {
  routes.put(
    "/models/roles",
    describe({ tag, summary: "Say who has which role; a role that is left out has none", answer: ModelsShape, errors }),
    jsonBody(Roles),
    (context) => {
      requireAdministration(context);
      setRoles(models, context.req.valid("json"));
      return respondJson(context, allOf(models));
    },
  );
}

function rowRoutes(routes: HttpApp, { models }: SharedProductServices): void {
  const changed = (name: string): z.infer<typeof ModelsShape> | z.infer<typeof ModelShape> =>
    isOneModel(name) ? knownModel(models, name) : allOf(models);
  routes.post(
    "/models",
    describe({
      tag,
      summary: "Add a model, or a rule for many; counts from the next model call on",
      answer: z.union([ModelShape, ModelsShape]),
      errors: { ...errors, 409: "It is already there, or models.yaml is broken" },
    }),
    jsonBody(ModelAdd),
    (context) => {
      requireAdministration(context);
      const { name, ...part } = context.req.valid("json");
      addModel(models, name, part);
      return respondJson(context, changed(name));
    },
  );
  routes.patch(
    "/models/:name",
    describe({
      tag,
      summary: "Say more of a model or a rule; what is left out stays",
      answer: z.union([ModelShape, ModelsShape]),
      errors: { ...errors, 404: "No such model" },
    }),
    path(RowPath),
    jsonBody(ModelChange),
    (context) => {
      requireAdministration(context);
      const { name } = context.req.valid("param");
      changeModel(models, name, context.req.valid("json"));
      return respondJson(context, changed(name));
    },
  );
  routes.delete(
    "/models/:name",
    describe({
      tag,
      summary: "Take back what was said of a model or a rule; what is built in stays",
      empty: true,
      errors: { ...errors, 404: "Nothing was said of it" },
    }),
    path(RowPath),
    (context) => {
      requireAdministration(context);
      removeModel(models, context.req.valid("param").name);
      return context.body(null, 204);
    },
  );
}

function allOf(models: ModelRegistry): z.infer<typeof ModelsShape> {
  return {
    models: knownModels(models),
    rules: ownRules(models),
    roles: models.roles(),
    problem: models.files().file.problem() ?? null,
  };
}
