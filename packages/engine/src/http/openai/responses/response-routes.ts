import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import { z } from "zod";
import { isOver } from "../../../runs/status.ts";
import type { Run } from "../../../storage/records.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
} from "../../environment.ts";
import { respondJson } from "../../responses/wire.ts";
import { repeatedRun } from "../../requests/repeated.ts";
import { submissionOf } from "../../validate.ts";
import { beginTurn, type StartedTurn, recordWaiting } from "../turn/begin-turn.ts";
import { choicesOf } from "../chat/chat-routes.ts";
import { cancelsOnLeave, followTurn, streamTurn, wholeTurn, type TurnEvent } from "../turn/follow-turn.ts";
import { failing, openAiBody, OpenAiProblem, starting } from "../problem.ts";
import { ResponseBody, responseMessages, responseTools } from "./response-body.ts";
import { ResponseEvents, responseFrame } from "./response-events.ts";
import { requestKey, StoredRequest, responseIdOf, ResponseObject, runIdOf, toResponse } from "./response-shape.ts";

const Deleted = z.object({ id: z.string(), object: z.literal("response"), deleted: z.literal(true) });
const tag = "OpenAI";

/** `/v1/responses`: stored turns that can be followed again and continued. */
export function responseRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.post(
    "/v1/responses",
    describe({
      tag,
      summary: "Ask an assistant; with `stream` as server-sent events",
      answer: ResponseObject,
      ...starting,
    }),
    openAiBody(ResponseBody),
    async (context) => createResponse(servicesOf(context), context, context.req.valid("json")),
  );

  routes.get(
    "/v1/responses/:response_id",
    describe({
      tag,
      summary: "Get a response; with `stream=true` its events after `starting_after`",
      answer: ResponseObject,
      ...failing,
    }),
    async (context) => {
      const services = servicesOf(context);
      const found = await requireResponse(services, context.req.param("response_id"));
      const { stream, starting_after } = RetrieveQuery.parse(context.req.query());
      if (stream === "true") return followResponse(services, context, found, { after: starting_after, cancels: false });
      if (!isOver(found.run.status)) return respondJson(context, toResponse(found.run, found.kept, []));
      return respondJson(context, await wholeResponse(services, context, found));
    },
  );

  routes.delete(
    "/v1/responses/:response_id",
    describe({
      tag,
      summary: "Delete a response with its run; one that works is stopped",
      answer: Deleted,
      ...failing,
    }),
    async (context) => {
      const services = servicesOf(context);
      const id = context.req.param("response_id");
      const { run } = await requireResponse(services, id);
      if (!(await services.runs.delete(run.run_id))) throw noResponse(id, "response_id");
      return respondJson(context, { id: responseIdOf(run), object: "response", deleted: true } satisfies z.infer<
        typeof Deleted
      >);
    },
  );

  routes.post(
    "/v1/responses/:response_id/cancel",
    describe({ tag, summary: "Stop a response", answer: ResponseObject, ...failing }),
    async (context) => {
      const services = servicesOf(context);
      const { run, kept } = await requireResponse(services, context.req.param("response_id"));
      const stopped = await services.runs.cancel(run.run_id, { action: "interrupt", wait: true });
      return respondJson(context, await wholeResponse(services, context, { run: stopped ?? run, kept }));
    },
  );
  return routes;
}

const RetrieveQuery = z.object({
  stream: z.enum(["true", "false"]).default("false"),
  starting_after: z.coerce.number().int().min(0).default(-1),
});

/** A stored response and its request. */
interface StoredResponse {
  run: Run;
  kept: StoredRequest;
}

async function createResponse(services: HttpServices, context: HttpContext, body: ResponseBody): Promise<Response> {
  const kept = keptOf(body);
  const { model: _model, input: _input, stream: _stream, metadata: _metadata, ...parameters } = body;
  const turn = await beginTurn(services, context, body, {
    model: body.model,
    messages: responseMessages(body),
    isWhole: !body.previous_response_id && !body.conversation,
    thread: await threadOf(services, context, body),
    tools: body["tool_choice"] === "none" ? [] : responseTools(body),
    choices: choicesOf({
      temperature: body.temperature,
      max_tokens: body.max_output_tokens,
      effort: body.reasoning?.effort,
    }),
    parameters,
    metadata: { [requestKey]: kept },
    isKept: kept.store,
  });
  const found = { run: turn.run, kept };
  const cancels = !kept.background && cancelsOnLeave(context);
  if (body.stream === true) return followResponse(services, context, found, { after: -1, cancels, turn });
  context.header("x-thread-id", turn.run.session_id);
  if (kept.background) return respondJson(context, toResponse(turn.run, kept, []));
  const events = await wholeTurn(services, context, turn.run, cancels);
  if (events === undefined) return RESPONSE_ALREADY_SENT;
  await recordWaiting(services, turn, events);
  return respondJson(context, readAll(found, events));
}

function keptOf(body: ResponseBody): StoredRequest {
  return {
    model: body.model,
    previous_response_id: body.previous_response_id ?? null,
    instructions: body.instructions ?? null,
    temperature: body.temperature ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    background: body.background ?? false,
    store: body.store ?? true,
    tools: body.tools ?? [],
    metadata: body.metadata ?? {},
  };
}

/** Runs per query. */
const pageSize = 20;

/** The thread to continue: that of the previous response, which must be its last, or the named one. */
async function threadOf(services: HttpServices, context: HttpContext, body: ResponseBody): Promise<string | undefined> {
  const { previous_response_id: previous, conversation } = body;
  const named = typeof conversation === "string" ? conversation : conversation?.id;
  if (!previous) return named ?? context.req.header("x-thread-id");
  const { run } = await requireResponse(services, previous, "previous_response_id");
  const { session_id } = run;
  if (!(await hasLaterTurn(services, run))) return session_id;
  // Looked for last: the same request may have begun its run meanwhile.
  if ((await repeatedRun(services, session_id, submissionOf(context, body))) !== undefined) return session_id;
  const message = `The conversation has gone on after ${previous}. Continue its last response, or send the whole history.`;
  throw new OpenAiProblem("invalid_parameter", "previous_response_not_last", message, "previous_response_id");
}

/** Whether a conversation has gone on after a run. A failed or stopped turn is retried from where it began. */
async function hasLaterTurn({ runs }: HttpServices, { session_id, run_id }: Run): Promise<boolean> {
  for (let offset = 0; ; offset += pageSize) {
    const page = await runs.list(session_id, { limit: pageSize, offset });
    for (const one of page) {
      if (one.run_id === run_id) return false;
      if (one.error === null && one.stop_requested === null) return true;
    }
    if (page.length < pageSize) return false;
  }
}

/** A response by its id. Throws `response_not_found`, also for one that was not stored. */
async function requireResponse(services: HttpServices, id: string, param = "response_id"): Promise<StoredResponse> {
  const runId = runIdOf(id);
  const run = runId === undefined ? undefined : await services.runs.get(runId);
  const kept = StoredRequest.safeParse(run?.metadata[requestKey]).data;
  if (run !== undefined && kept?.store === true) return { run, kept };
  throw noResponse(id, param);
}

function noResponse(id: string, param: string): OpenAiProblem {
  const reason = param === "response_id" ? "response_not_found" : "previous_response_not_found";
  return new OpenAiProblem("not_found", reason, `Response with id "${id}" not found.`, param);
}

async function wholeResponse(
  services: HttpServices,
  context: HttpContext,
  found: StoredResponse,
): Promise<z.infer<typeof ResponseObject>> {
  const events: TurnEvent[] = [];
  for await (const batch of followTurn(services, context, found.run, context.req.raw.signal)) events.push(...batch);
  return readAll(found, events);
}

function readAll({ run, kept }: StoredResponse, events: readonly TurnEvent[]): z.infer<typeof ResponseObject> {
  const reader = new ResponseEvents(run, kept);
  for (const event of events) reader.read(event);
  return reader.response;
}

function followResponse(
  services: HttpServices,
  context: HttpContext,
  { run, kept }: StoredResponse,
  { after, cancels, turn }: { after: number; cancels: boolean; turn?: StartedTurn },
): Response {
  const reader = new ResponseEvents(run, kept);
  const received: TurnEvent[] = [];
  let hasBegun = false;
  return streamTurn(services, context, run, {
    frame: (event) => {
      const begin = hasBegun ? [] : reader.begin();
      hasBegun = true;
      return [...begin, ...reader.read(event)]
        .filter(({ sequence_number: number }) => Number(number) > after)
        .map((one) => responseFrame(one))
        .join("");
    },
    ...(turn !== undefined && {
      onItems: (events: readonly TurnEvent[]): void => void received.push(...events),
      onEnd: () => recordWaiting(services, turn, received),
    }),
    cancels,
  });
}
