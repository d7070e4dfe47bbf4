import { Hono } from "hono";
import { z } from "zod";
import { defaultModelOf } from "@millrace/models/choose-model";
import { providerNamed, removeProvider, setKey, setProvider } from "@millrace/models/registry/change-models";
import { isLocal } from "@millrace/models/registry/known-models";
import { ProviderName, ProviderSetting } from "@millrace/models/registry/model-settings";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import { describe } from "@millrace/engine/http/describe";
import { type HttpApp, type HttpEnvironment, requireAdministration } from "@millrace/engine/http/environment";
import { productServicesOf, type SharedProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { KeySave, storedKeyShape, StoredKeyShape } from "../../stored-key.ts";
import { jsonBody, path } from "@millrace/engine/http/validate";

const ProviderPath = z.object({ name: ProviderName });
const ProviderSave = ProviderSetting.meta({ ref: "ProviderSave" });

const ProviderShape = z
  .object({
    name: z.string(),
    title: z.string(),
    is_built_in: z.boolean(),
    base_url: z.string().nullable().describe("null: nothing is reached"),
    is_local: z.boolean(),
    needs_key: z.boolean(),
    key: StoredKeyShape.nullable().describe("null: it has none"),
    usual_model: z.string().nullable().describe("Who answers where only its key is set and no model is chosen"),
    timeout_seconds: z.number().nullable().describe("null: its own"),
    llm_last_verified_at: z
      .string()
      .nullable()
      .describe("When a model of it last answered a test with this address and key"),
  })
  .meta({ ref: "Provider" });
const tag = "Models";
const errors = { 403: "The caller may not change it", 409: "The file is broken", 507: "The disk is full" };
const named = { ...errors, 404: "No such provider" };

/** `/providers`: addresses and keys of model providers; keys can be written but never read. */
export function providerRoutes(services: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  settingRoutes(routes, services);
  keyRoutes(routes, services);
  return routes;
}

function settingRoutes(routes: HttpApp, { models }: SharedProductServices): void {
  routes.get(
    "/providers",
    describe({ tag, summary: "List the providers", answer: z.array(ProviderShape) }),
    (context) =>
      respondJson(
        context,
        models.providerNames().map((name) => shapeOf(models, name, productServicesOf(context).mayAdminister)),
      ),
  );
  routes.put(
    "/providers/:name",
    describe({
      tag,
      summary: "Add a provider, or say anew what differs of a built-in one; its key goes to its address",
      answer: ProviderShape,
      errors,
    }),
    path(ProviderPath),
    jsonBody(ProviderSave),
    (context) => {
      const { mayAdminister } = productServicesOf(context);
      requireAdministration(context);
      const { name } = context.req.valid("param");
      setProvider(models, name, context.req.valid("json"));
      return respondJson(context, shapeOf(models, name, mayAdminister));
    },
  );
  routes.delete(
    "/providers/:name",
    describe({
      tag,
      summary: "Take back what was said of a provider; a built-in one is then as it was",
      empty: true,
      errors: { ...named, 409: "Its models have roles, or the file is broken" },
    }),
    path(ProviderPath),
    (context) => {
      requireAdministration(context);
      removeProvider(models, context.req.valid("param").name);
      return context.body(null, 204);
    },
  );
}

function keyRoutes(routes: HttpApp, { models }: SharedProductServices): void {
  routes.put(
    "/providers/:name/key",
    describe({
      tag,
      summary: "Store a provider's key, which goes before that of the environment",
      answer: ProviderShape,
      errors: named,
    }),
    path(ProviderPath),
    jsonBody(KeySave),
    (context) => {
      const { mayAdminister } = productServicesOf(context);
      requireAdministration(context);
      const { name } = context.req.valid("param");
      setKey(models, name, context.req.valid("json").key);
      return respondJson(context, shapeOf(models, name, mayAdminister));
    },
  );
  routes.delete(
    "/providers/:name/key",
    describe({ tag, summary: "Forget the stored key of a provider", answer: ProviderShape, errors: named }),
    path(ProviderPath),
    (context) => {
      const { mayAdminister } = productServicesOf(context);
      requireAdministration(context);
      const { name } = context.req.valid("param");
      setKey(models, name, undefined);
      return respondJson(context, shapeOf(models, name, mayAdminister));
    },
  );
}

function shapeOf(models: ModelRegistry, name: string, mayAdminister: boolean): z.infer<typeof ProviderShape> {
  const provider = providerNamed(models, name);
  const { keyName, key } = provider;
  return {
    name: provider.name,
    title: provider.maker.title,
    is_built_in: provider.isBuiltIn,
    base_url: provider.address ?? null,
    is_local: isLocal(provider),
    needs_key: provider.needsKey,
    key: keyName === undefined ? null : storedKeyShape(keyName, key, mayAdminister),
    usual_model: defaultModelOf(keyName) ?? null,
    timeout_seconds: provider.limits.timeout_seconds ?? null,
    llm_last_verified_at: models.verified()?.latest(provider) ?? null,
  };
}
