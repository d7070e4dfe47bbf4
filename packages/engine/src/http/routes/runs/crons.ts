import { Hono } from "hono";
import { z } from "zod";
import { nextDates } from "../../../crons/schedule.ts";
import type { CronChange, NewCron } from "../../../crons/crons.ts";
import { findAssistant } from "../../../graphs/load.ts";
import { assistantNotFound } from "../../../runs/admission/draft.ts";
import { requireSession } from "../../../sessions/sessions.ts";
import { nameOfOwner } from "../../../config/api-keys.ts";
import type { Cron } from "../../../storage/record-stores.ts";
import type { JsonObject } from "../../../storage/records.ts";
import { checkWebhook } from "../../requests/check-webhook.ts";
import { checkedBody, toWireRun } from "../../requests/runs.ts";
import {
  CronCreate,
  CronDates,
  CronFilter,
  CronPatch,
  CronPayload,
  CronSearch,
  CronShape,
  CronTimes,
} from "../../requests/cron-shapes.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment, type HttpServices } from "../../environment.ts";
import { RunShape } from "../../responses/shapes.ts";
import { respondJson, pageHeaders, selected } from "../../responses/wire.ts";
import { Id, jsonBody, path } from "../../validate.ts";

const CronPath = z.object({ cron_id: Id });
const tag = "Crons";
const unknownAssistant = { 404: "No such assistant" };
const unknownCron = { 404: "No such cron" };

/** `/runs/crons`: scheduled runs, on a thread or each on its own. */
export function cronRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  createRoutes(routes);
  searchRoutes(routes);
  changeRoutes(routes);
  return routes;
}

function createRoutes(routes: HttpApp): void {
  routes.post(
    "/runs/crons",
    describe({
      tag,
      summary: "Start a run by the clock, on a new thread each time",
      answer: CronShape,
      errors: unknownAssistant,
    }),
    jsonBody(CronCreate),
    async (context) =>
      respondJson(
        context,
        toWireCron(
          await servicesOf(context).crons.create(await newCron(servicesOf(context), context.req.valid("json"), null)),
        ),
      ),
  );

  routes.post(
    "/threads/:thread_id/runs/crons",
    describe({
      tag,
      summary: "Start a run of a thread by the clock",
      answer: CronShape,
      errors: { 404: "No such thread or assistant" },
    }),
    path(z.object({ thread_id: Id })),
    jsonBody(CronCreate),
    async (context) => {
      const services = servicesOf(context);
      const { session_id } = await requireSession(services.storage, context.req.valid("param").thread_id);
      const cron = await newCron(services, context.req.valid("json"), session_id);
      return respondJson(context, toWireCron(await services.crons.create(cron)));
    },
  );
}

function searchRoutes(routes: HttpApp): void {
  routes.post(
    "/crons/preview",
    describe({ tag, summary: "The next five dates of a schedule, without a cron", answer: CronDates }),
    jsonBody(CronTimes),
    (context) => {
      const { schedule, timezone = null, end_time = null } = context.req.valid("json");
      return respondJson(context, { dates: nextDates({ schedule, timezone, end_time }, 5) });
    },
  );

  routes.post(
    "/runs/crons/search",
    describe({ tag, summary: "Find crons, newest first", answer: z.array(CronShape) }),
    jsonBody(CronSearch),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const page = { limit: body.limit ?? 10, offset: body.offset ?? 0 };
      const found = await services.crons.search({
        ...(await filterOf(services, body)),
        ...page,
        ...(body.sort_by && { sort_by: body.sort_by }),
        ...(body.sort_order && { sort_order: body.sort_order }),
      });
      pageHeaders(context, { offset: page.offset, total: found.total, count: found.crons.length });
      const rows = found.crons.map((cron) => selected(toWireCron(cron), body.select));
      return respondJson(context, rows);
    },
  );

  routes.post(
    "/runs/crons/count",
    describe({ tag, summary: "Count crons", answer: z.number().int() }),
    jsonBody(CronFilter),
    async (context) => {
      const services = servicesOf(context);
      const { total } = await services.crons.search({
        ...(await filterOf(services, context.req.valid("json"))),
        limit: 1,
        offset: 0,
      });
      return context.json(total);
    },
  );
}

function changeRoutes(routes: HttpApp): void {
  routes.patch(
    "/runs/crons/:cron_id",
    describe({ tag, summary: "Change a cron", answer: CronShape, errors: { 404: "No such cron or assistant" } }),
    path(CronPath),
    jsonBody(CronPatch),
    async (context) => {
      const services = servicesOf(context);
      const { cron_id } = context.req.valid("param");
      const change = await changeOf(services, context.req.valid("json"));
      const check = (payload: JsonObject) => checkedPayload(services, payload);
      return respondJson(context, toWireCron(await services.crons.update(cron_id, change, check)));
    },
  );

  routes.post(
    "/runs/crons/:cron_id/run",
    describe({
      tag,
      summary: "Start a run of a cron now, besides its dates",
      answer: RunShape,
      errors: { 404: "No such cron, or its thread is gone" },
    }),
    path(CronPath),
    async (context) => {
      const run = await servicesOf(context).crons.start(context.req.valid("param").cron_id);
      return respondJson(context, toWireRun(run));
    },
  );

  routes.delete(
    "/runs/crons/:cron_id",
    describe({ tag, summary: "Delete a cron; a run that it has started goes on", empty: true, errors: unknownCron }),
    path(CronPath),
    async (context) => {
      const services = servicesOf(context);
      await services.crons.delete(context.req.valid("param").cron_id);
      return context.body(null, 204);
    },
  );
}

/** The wire's Cron. */
function toWireCron({ session_id, owner, ...cron }: Cron): object {
  return { ...cron, thread_id: session_id, user_id: owner && nameOfOwner(owner) };
}

async function assistantIdOf({ runnable, graphs }: HttpServices, name: string): Promise<string> {
  const assistant = await findAssistant(runnable, graphs, name);
  if (assistant === undefined) throw assistantNotFound(name, graphs);
  return assistant.assistant_id;
}

async function newCron(
  services: HttpServices,
  body: z.infer<typeof CronCreate>,
  session_id: string | null,
): Promise<NewCron> {
  const { schedule, timezone, end_time, enabled, metadata, on_run_completed } = body;
  const assistant_id = await assistantIdOf(services, body.assistant_id);
  if (body.webhook) checkWebhook(body.webhook, services.config.webhooks);
  return {
    assistant_id,
    session_id,
    schedule,
    timezone: timezone ?? null,
    end_time: end_time ?? null,
    payload: given(await checkedPayload(services, { ...body, assistant_id })),
    metadata: metadata ?? {},
    enabled: enabled ?? true,
    on_run_completed: on_run_completed ?? "delete",
  };
}

/** The payload of a cron's runs, validated like a run's body. */
async function checkedPayload(services: HttpServices, body: object): Promise<z.infer<typeof CronPayload>> {
  const payload = CronPayload.parse(body);
  await checkedBody(services, payload);
  return payload;
}

/** The fields with a value. */
function given(fields: object): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

async function changeOf(services: HttpServices, body: z.infer<typeof CronPatch>): Promise<CronChange> {
  const { schedule, timezone, end_time, enabled, metadata, on_run_completed, assistant_id, ...rest } = body;
  if (rest.webhook) checkWebhook(rest.webhook, services.config.webhooks);
  const known = assistant_id === undefined ? {} : { assistant_id: await assistantIdOf(services, assistant_id) };
  return {
    ...known,
    payload: { ...given(rest), ...known },
    // Null removes these; for the others null means absent.
    ...(timezone !== undefined && { timezone }),
    ...(end_time !== undefined && { end_time }),
    ...(schedule !== undefined && { schedule }),
    ...(enabled !== undefined && enabled !== null && { enabled }),
    ...(metadata && { metadata }),
    ...(on_run_completed && { on_run_completed }),
  };
}

async function filterOf({ runnable, graphs }: HttpServices, filter: z.infer<typeof CronFilter>) {
  const { assistant_id, thread_id, enabled, metadata } = filter;
  return {
    // An assistant that does not exist has no crons.
    ...(assistant_id && {
      assistant_id: (await findAssistant(runnable, graphs, assistant_id))?.assistant_id ?? assistant_id,
    }),
    ...(thread_id && { session_id: thread_id }),
    ...(enabled !== null && enabled !== undefined && { enabled }),
    ...(metadata && { metadata }),
  };
}
