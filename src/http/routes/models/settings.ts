import { Hono } from "hono";
import { z } from "zod";
import { valuesOf, variableNames } from "@millrace/engine/config/config";
import { AppError } from "@millrace/engine/errors/errors";
import { toolkits } from "../../../toolkits/index.ts";
import { changeable } from "../../../live-settings/live-settings.ts";
import { masked } from "@millrace/models/registry/credentials";
import { isSecret } from "@millrace/engine/config/api-keys";
import { describe } from "@millrace/engine/http/describe";
import { type HttpApp, type HttpEnvironment, requireAdministration } from "@millrace/engine/http/environment";
import { productServicesOf, type ProductServices, type SharedProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { jsonBody } from "@millrace/engine/http/validate";

const SettingShape = z
  .object({
    name: z.string().describe("The variable, as .env.example describes it"),
    value: z.unknown().describe("What counts now; null: nothing. Of a secret at most its end is shown"),
    source: z
      .enum(["changed", "environment", "default"])
      .describe("changed: by the request under change, which keeps it in a file"),
    default: z.unknown().describe("What counts where neither is said; null: nothing"),
    is_secret: z.boolean(),
    change: z.string().nullable().describe("The request that changes it; null: it counts from the next start on"),
  })
  .meta({ ref: "Setting" });
const SettingsShape = z.object({ settings: z.array(SettingShape) });
const Change = z
  .record(z.string().max(100), z.union([z.string().min(1).max(4000), z.number(), z.null()]))
  .describe("New values by name, as the environment would say them; null takes back what was changed")
  .meta({ ref: "SettingsChange" });
const tag = "Meta";
const errors = { 403: "The caller does not administer the server" };

/** `/settings`: current settings with their sources, and changes at runtime. */
export function settingRoutes(services: SharedProductServices): HttpApp {
  const { settings, logger } = services;
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/settings",
    describe({ tag, summary: "What the server was told, and by whom", answer: SettingsShape, errors }),
    (context) => {
      const services = productServicesOf(context);
      requireAdministration(context);
      return respondJson(context, listOf(services));
    },
  );
  routes.patch(
    "/settings",
    describe({
      tag,
      summary: "Change settings, all of them or none; runs have them from their next start on",
      answer: SettingsShape,
      errors: { ...errors, 409: "The file is broken", 507: "The disk is full" },
    }),
    jsonBody(Change),
    (context) => {
      const services = productServicesOf(context);
      requireAdministration(context);
      const changes = context.req.valid("json");
      for (const name of Object.keys(changes)) requireChangeable(name);
      settings.change(Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, textOf(value)])));
      logger.info({ names: Object.keys(changes) }, "settings_changed");
      return respondJson(context, listOf(services));
    },
  );
  return routes;
}

function textOf(value: string | number | null): string | null {
  return value === null ? null : String(value);
}

function requireChangeable(name: string): void {
  if (Object.hasOwn(changeable, name)) return;
  const other = otherWays[name];
  const message = variableNames.includes(name)
    ? `${name} is not changed here.`
    : `There is no setting ${name.slice(0, 100)}.`;
  throw new AppError("invalid_parameter", message, {
    suggestion:
      other === undefined
        ? `Set it in the environment, or change one of these: ${Object.keys(changeable).join(", ")}.`
        : `Use ${other}.`,
  });
}

/** Variables overridden by files of models or keys, with the request that writes the file. */
const otherWays: Readonly<Record<string, string>> = {
  MILLRACE_MODEL: "PUT /models/roles",
  MILLRACE_TITLE_MODEL: "PUT /models/roles",
  MILLRACE_EMBEDDING_MODEL: "PUT /models/roles",
  OPENAI_API_KEY: "PUT /providers/openai/key",
  OPENAI_BASE_URL: "PUT /providers/openai",
  ZHIPU_API_KEY: "PUT /providers/zhipu/key",
  SILICONFLOW_API_KEY: "PUT /providers/siliconflow/key",
  DEEPSEEK_API_KEY: "PUT /providers/deepseek/key",
  DASHSCOPE_API_KEY: "PUT /providers/qwen/key",
  OLLAMA_BASE_URL: "PUT /providers/ollama",
  ...Object.assign({}, ...toolkits.map(({ settingRequests }) => settingRequests)),
};

/** The value in these files. */
function fileValueOf(name: string, models: ProductServices["models"]): string | undefined {
  const { roles, providers } = models.settings();
  if (name === "MILLRACE_MODEL") return roles.main;
  if (name === "MILLRACE_TITLE_MODEL") return roles.titles;
  if (name === "MILLRACE_EMBEDDING_MODEL") return roles.embedding;
  if (isSecret(name)) return Object.hasOwn(otherWays, name) ? models.storedKeys()[name] : undefined;
  const provider = /^PUT \/providers\/(\w+)$/u.exec(otherWays[name] ?? "")?.[1];
  return provider === undefined ? undefined : providers[provider]?.base_url;
}

function listOf({ settings, models }: ProductServices): z.infer<typeof SettingsShape> {
  const [changed, { given }] = [settings.changed(), settings.current()];
  const [values, defaults] = [valuesOf({ ...given, ...changed }), valuesOf({})];
  return {
    settings: variableNames.map((name) => {
      const fileValue = fileValueOf(name, models);
      const isChanged = fileValue !== undefined || Object.hasOwn(changed, name);
      return {
        name,
        value: shownOf(name, fileValue ?? values[name]),
        source: isChanged ? "changed" : Object.hasOwn(given, name) ? "environment" : "default",
        default: isSecret(name) ? null : (defaults[name] ?? null),
        is_secret: isSecret(name),
        change: Object.hasOwn(changeable, name) ? "PATCH /settings" : (otherWays[name] ?? null),
      };
    }),
  };
}

/** Masks secrets, and credentials in URLs. */
function shownOf(name: string, value: unknown): z.infer<typeof SettingShape>["value"] {
  if (value === undefined) return null;
  if (isSecret(name)) return Array.isArray(value) ? `${value.length} keys` : masked(z.string().parse(value));
  if (typeof value !== "string" || !URL.canParse(value)) return value;
  const url = new URL(value);
  if (url.username === "" && url.password === "") return value;
  [url.username, url.password] = ["", ""];
  return url.href;
}
