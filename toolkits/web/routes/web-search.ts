import { Hono } from "hono";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { isProviderSearchAvailable, providerSearchHelp } from "@millrace/models/provider-search";
import { providers } from "@millrace/models/index";
import {
  searchEngineNames,
  searchKeyNames,
  withStoredKeys,
  type SearchEngineName,
} from "@millrace/engine/config/web-settings";
import { searchEngines } from "../search/search-engines.ts";
import { describe } from "@millrace/engine/http/describe";
import {
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  requireAdministration,
} from "@millrace/engine/http/environment";
import { routeServicesOf, type RouteServices } from "../../../src/toolkits/route-services.ts";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import { KeySave, storedKeyShape, StoredKeyShape } from "../../../src/http/stored-key.ts";
import { jsonBody, path, query } from "@millrace/engine/http/validate";

const Model = z.object({
  model: z.string().max(200).optional().describe("A model, provider:name; else the one that answers by itself"),
});
const SearchShape = z.object({
  name: z.string(),
  title: z.string(),
  is_available: z.boolean().describe("Whether a run with this model may choose it now"),
  help: z.array(z.string()).describe("What has to be done for it, in order, in the language of Accept-Language"),
});
const EngineShape = SearchShape.extend({ key: StoredKeyShape.nullable().describe("null: it wants none") });
const EnginePath = z.object({ engine: z.enum(searchEngineNames) });
const WebSearchShape = z
  .object({
    model: z.string(),
    choices: z.array(z.enum(["off", "general", "provider"])).describe("What a run's web_search may be, one of them"),
    engine: z.string().nullable().describe("Who searches for `general`; null: nobody is set up"),
    opens_pages: z.boolean(),
    general: z.array(EngineShape),
    provider: z.array(SearchShape),
  })
  .meta({ ref: "WebSearch" });

const tag = "Tools";

/** `/web-search`: available search engines, setup of others, and their keys. */
export function webSearchRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  choiceRoute(routes);
  keyRoutes(routes);
  return routes;
}

function choiceRoute(routes: HttpApp): void {
  routes.get(
    "/web-search",
    describe({ tag, summary: "Who searches the web, and what has to be done for it", answer: WebSearchShape }),
    query(Model),
    (context) => {
      const services = routeServicesOf(context);
      const { models, settings, toolkits } = services;
      const language = languageOf(context);
      const isOn = toolkits.some(({ name }) => name === "web");
      const model = context.req.valid("query").model ?? models.roles().main;
      const { web } = settings.current();
      const now = withStoredKeys(web, models.storedKeys());
      const engine = isOn ? (now.search?.engine ?? null) : null;
      const general = searchEngineNames.map((name) => ({
        name,
        title: searchEngines[name].title,
        is_available: name === engine,
        help: [...searchEngines[name].help[language]],
        key: keyOf(name, services),
      }));
      const provider = Object.entries(providers)
        .filter(([name]) => isProviderSearchAvailable(name))
        .map(([name, { title }]) => ({
          name,
          title,
          is_available: model.startsWith(`${name}:`),
          help: [...providerSearchHelp[language]],
        }));
      const choices: z.infer<typeof WebSearchShape>["choices"] = ["off"];
      if (engine !== null) choices.push("general");
      if (isProviderSearchAvailable(model)) choices.push("provider");
      return respondJson(context, {
        model,
        choices,
        engine,
        opens_pages: isOn && now.opensPages,
        general,
        provider,
      });
    },
  );
}

const errors = { 403: "The caller may not change it", 409: "The file of keys is broken", 507: "The disk is full" };

function keyRoutes(routes: HttpApp): void {
  const store = (
    context: HttpContext,
    engine: SearchEngineName,
    key: string | undefined,
  ): z.infer<typeof StoredKeyShape> | null => {
    requireAdministration(context);
    const services = routeServicesOf(context);
    const name = searchKeyNames[engine];
    if (name === undefined) {
      throw new AppError("invalid_parameter", `The search engine ${engine} wants no key.`, {
        suggestion: "GET /web-search says what it needs.",
      });
    }
    services.models.files().credentials.set(name, key);
    return keyOf(engine, services);
  };
  const answer = StoredKeyShape.nullable();
  routes.put(
    "/web-search/:engine/key",
    describe({
      tag,
      summary: "Store a search engine's key, which goes before that of the environment",
      answer,
      errors,
    }),
    path(EnginePath),
    jsonBody(KeySave),
    (context) => respondJson(context, store(context, context.req.valid("param").engine, context.req.valid("json").key)),
  );
  routes.delete(
    "/web-search/:engine/key",
    describe({ tag, summary: "Forget the stored key of a search engine", answer, errors }),
    path(EnginePath),
    (context) => respondJson(context, store(context, context.req.valid("param").engine, undefined)),
  );
}

/** An engine's key without its secret: the stored one, else that of the environment. */
function keyOf(
  engine: SearchEngineName,
  { models, settings, mayAdminister }: Pick<RouteServices, "models" | "settings" | "mayAdminister">,
): z.infer<typeof StoredKeyShape> | null {
  const name = searchKeyNames[engine];
  if (name === undefined) return null;
  const { given, web } = settings.current();
  const keys = models.storedKeys();
  const stored = Object.hasOwn(keys, name) ? keys[name] : undefined;
  // Also for engines not in use; a changed address does not get the environment's key.
  const isMoved = [web.search, ...web.lackKey].some((one) => one?.engine === engine && one.isMoved === true);
  const set = !isMoved && Object.hasOwn(given, name) ? given[name] : undefined;
  if (stored !== undefined) return storedKeyShape(name, { value: stored, source: "file" }, mayAdminister);
  return storedKeyShape(name, set === undefined ? undefined : { value: set, source: "environment" }, mayAdminister);
}
