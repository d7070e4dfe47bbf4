import { Hono } from "hono";
import { z } from "zod";
import { errorCodes } from "@millrace/engine/errors/errors";
import type { ServiceStatus } from "@millrace/models/resilience/model-services";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import type { SharedProductServices } from "../../product-services.ts";
import { notFound } from "@millrace/engine/http/errors";
import { toCsv } from "@millrace/engine/http/responses/csv";
import { answerBody, respondJson } from "@millrace/engine/http/responses/wire";
import { path, query } from "@millrace/engine/http/validate";

const milliseconds = z.number().nullable();
const StatisticsShape = z.object({
  calls: z.number().int(),
  succeeded: z.number().int(),
  failed: z.number().int(),
  cancelled: z.number().int().describe("Stopped by whoever asked"),
  refused: z.number().int().describe("Not made, because the model was left alone"),
  success_rate: z.number().nullable().describe("Of those that succeeded or failed"),
  mean_duration_ms: milliseconds.describe("Of those that succeeded"),
  mean_first_token_ms: milliseconds.describe("Until the first words"),
  failures: z.partialRecord(z.enum(errorCodes), z.number().int()),
  last_failure: z.object({ error: z.enum(errorCodes), at: z.iso.datetime() }).nullable(),
});
const ServiceShape = z
  .object({
    model: z.string(),
    state: z.enum(["closed", "open", "half_open"]).describe("`open`: it has failed again and again and is left alone"),
    retry_in_ms: z.number(),
    in_flight: z.number().int(),
    statistics: StatisticsShape,
  })
  .meta({ ref: "ModelService" });
const ProviderStatus = z
  .object({
    provider: z.string(),
    state: z.enum(["unknown", "working", "partly", "paused"]).describe("`unknown`: nothing was asked of it yet"),
    models: z.array(ServiceShape),
  })
  .meta({ ref: "ProviderStatus" });
const ProviderPath = z.object({ name: z.string().min(1).max(100) });
const Format = z.object({ format: z.enum(["json", "csv"]).default("json") });
const tag = "Models";

/** Status and request statistics of models. */
export function modelServiceRoutes({ models, modelServices }: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/providers/:name/status",
    describe({
      tag,
      summary: "How the models of a provider do; nothing is asked of them",
      answer: ProviderStatus,
      errors: { 404: "No such provider" },
    }),
    path(ProviderPath),
    (context) => {
      const { name: provider } = context.req.valid("param");
      if (models.provider(provider) === undefined) throw notFound(`There is no provider ${provider}.`);
      const statuses = modelServices.list(provider);
      return respondJson(context, { provider, state: stateOf(statuses), models: statuses });
    },
  );
  routes.get(
    "/statistics/models",
    describe({
      tag,
      summary: "How the requests to all models went since the server began",
      answer: z.array(ServiceShape),
      texts: ["text/csv"],
    }),
    query(Format),
    (context) => {
      const statuses = modelServices.list();
      if (context.req.valid("query").format === "json") return respondJson(context, statuses);
      return answerBody(context, statusesAsCsv(statuses), "text/csv; charset=utf-8");
    },
  );
  return routes;
}

function stateOf(statuses: readonly ServiceStatus[]): z.infer<typeof ProviderStatus>["state"] {
  if (statuses.length === 0) return "unknown";
  const closed = statuses.filter(({ state }) => state === "closed").length;
  return closed === statuses.length ? "working" : closed === 0 ? "paused" : "partly";
}

const columns = [
  "calls",
  "succeeded",
  "failed",
  "cancelled",
  "refused",
  "success_rate",
  "mean_duration_ms",
  "mean_first_token_ms",
] as const;

function statusesAsCsv(statuses: readonly ServiceStatus[]): string {
  const rows = statuses.map(({ model, state, statistics }) => ({ ...statistics, model, state }));
  return toCsv(["model", "state", ...columns], rows);
}
