import { HTTPException } from "hono/http-exception";
import { type Language, languageOfWords } from "../../language.ts";
import { AppError } from "../../errors/errors.ts";
import type { StreamMode } from "../../run-events.ts";
import { findAssistant } from "../../graphs/load.ts";
import { assistantNotFound, type RunRequest } from "../../runs/admission/draft.ts";
import { expireSession } from "../../sessions/questions/approvals.ts";
import { storedConfigurable, lastingKeys, readValues } from "../../sessions/sessions.ts";
import { readCommandMessages, readInputMessages } from "../../sessions/state/run-input.ts";
import type { Assistant, JsonObject, Run, Session } from "../../storage/records.ts";
import type { HttpContext, HttpServices } from "../environment.ts";
import { toWireRunError } from "../errors.ts";
import { createFrames, frameLength, gapFrame } from "../responses/frames.ts";
import { namedLanguage, toWireJson } from "../responses/wire.ts";
import { checkWebhook } from "./check-webhook.ts";
import { beginOnce, refuseConflict, repeatedRun } from "./repeated.ts";
import { type RunBody, toRunRequest } from "./run-request.ts";
import { withCallsOf } from "./thread.ts";
import { sendEvents, sendWhenReady } from "../responses/sse.ts";
import { submissionOf } from "../validate.ts";
import { readTraceparent } from "../../telemetry/traceparent.ts";
import type { RunEnd } from "../../runs/options.ts";

/** The wire's Run. */
export function toWireRun(run: Run): object {
  const {
    stream_subgraphs,
    stream_resumable,
    protocol: _protocol,
    owner: _owner,
    langsmith_tracer: _tracer,
    graph_version: _version,
    request: _request,
    ...kwargs
  } = run.kwargs;
  return {
    run_id: run.run_id,
    thread_id: run.session_id,
    assistant_id: run.assistant_id,
    metadata: run.metadata,
    status: run.status,
    kwargs: { ...kwargs, subgraphs: stream_subgraphs, resumable: stream_resumable },
    multitask_strategy: run.multitask_strategy,
    ...(run.cancel_reason !== undefined && { cancel_reason: run.cancel_reason }),
    created_at: run.created_at,
    updated_at: run.updated_at,
  };
}

/**
 * Reports how many runs of the session precede a queued run. A failure is logged: the run is admitted by then, and a client
 * that got an error would start it again.
 */
export async function setPositionHeader({ runs, logger }: HttpServices, context: HttpContext, run: Run): Promise<void> {
  const position = await runs.placeOf(run).catch((error: unknown) => {
    logger.warn({ err: error, run_id: run.run_id }, "queue_position_not_read");
    return undefined;
  });
  if (position === undefined) return;
  context.header("X-Queue-Position", String(position));
  if (position > 0) context.set("waits", true);
}

/** Admits the requested run and reports its queue position; see `admitRun`. */
export async function startRun(
  services: HttpServices,
  context: HttpContext,
  session: Session,
  body: RunBody,
  temporary = false,
): Promise<Run> {
  const submission = submissionOf(context, body);
  const run = await admitRun(services, session, body, { ...requestOrigin(context), submission, temporary });
  await setPositionHeader(services, context, run);
  return run;
}

/** `startRun` for a request that says how the run's `body` is made: by what it `sent`, a repeated one is known. */
export async function startRunFor(
  services: HttpServices,
  context: HttpContext,
  session: Session,
  { sent, body }: { sent: object; body: () => Promise<RunBody> },
): Promise<Run> {
  const submission = submissionOf(context, sent);
  const run = await admitRun(services, session, body, { ...requestOrigin(context), submission });
  await setPositionHeader(services, context, run);
  return run;
}

/** The origin of a run request, besides its body. */
export interface RequestOrigin extends Pick<RunRequest, "submission" | "protocol"> {
  /** The request's headers; some become configuration. */
  headers: Record<string, string>;
  requestId?: string;
  temporary?: boolean;
}

/** The parts of a request that its runs keep. */
export function requestOrigin(context: HttpContext): { headers: Record<string, string>; requestId: string } {
  return { headers: context.req.header(), requestId: context.get("requestId") };
}

/**
 * Admits a run; a repeated `Idempotency-Key` returns the same run, and a `wanted` that is a function is not called then. 422 if
 * the session is busy and the strategy is `reject`, and for a key reused with another request. The run's configuration becomes
 * the session's. For a session that the request creates, call it within `inSession`. `isNew`: not to be looked for.
 */
export async function admitRun(
  services: HttpServices,
  session: Session,
  wanted: RunBody | (() => Promise<RunBody>),
  origin: RequestOrigin,
  isNew = origin.submission === undefined,
): Promise<Run> {
  if (!isNew) {
    const find = (): Promise<Run | undefined> => repeatedRun(services, session.session_id, origin.submission);
    return await beginOnce(find, () => admitRun(services, session, wanted, origin, true));
  }
  const body = typeof wanted === "function" ? await wanted() : wanted;
  const { headers, requestId, temporary = false, ...rest } = origin;
  const { storage, runs, config } = services;
  if (body.command?.resume !== undefined) {
    // Expire overdue questions first, so that a late answer is refused.
    await expireSession({ storage, runs, timeoutHours: config.approvalTimeoutHours }, session);
  }
  if (body.webhook) checkWebhook(body.webhook, config.webhooks);
  const { body: checked, found } = await checkedBody(services, body);
  const request = toRunRequest(checked, session, headers, temporary);
  const { traceparent } = headers;
  const isTraced = traceparent !== undefined && readTraceparent(traceparent) !== undefined;
  // The run's log lines and trace carry the request's id.
  const traced = { ...(requestId !== undefined && { id: requestId }), ...(isTraced && { traceparent }) };
  const run = await runs.start(session, { ...request, request: traced, ...rest, found }).catch(refuseConflict);
  if (body.config && !temporary) await keepConfig(services, session, body.config);
  return run;
}

/** Makes the run's configuration the session's. */
async function keepConfig(
  { storage, logger }: HttpServices,
  session: Session,
  given: NonNullable<RunBody["config"]>,
): Promise<void> {
  const configurable = { ...storedConfigurable(session), ...lastingKeys(given.configurable) };
  // The run has started: after an error the client would send it again.
  await storage.sessions.update(session.session_id, { config: { ...given, configurable } }).catch((error: unknown) => {
    logger.warn({ err: error, session_id: session.session_id }, "session_config_not_kept");
  });
}

/**
 * Throws what would refuse the run at any time; momentary conditions, such as a full queue, are checked at admission.
 */
export async function checkRun(services: HttpServices, body: RunBody): Promise<void> {
  if (body.webhook) checkWebhook(body.webhook, services.config.webhooks);
  const { found } = await checkedBody(services, body);
  if (found === undefined) throw assistantNotFound(body.assistant_id, services.graphs);
}

/** A run's input after the message rules of its graph, and its assistant, if any. */
export async function checkedBody(
  { runnable, graphs }: Pick<HttpServices, "runnable" | "graphs">,
  body: RunBody,
): Promise<{ body: RunBody; found: Assistant | undefined }> {
  const found = await findAssistant(runnable, graphs, body.assistant_id);
  if (found === undefined || !graphs.hasLoop(graphs.get(found.graph_id))) return { body, found };
  const { input, command } = body;
  if ((input === undefined || input === null) && (command === undefined || command === null)) refuseCompression(body);
  const checked = {
    ...body,
    input: readInputMessages(input, "input"),
    ...(command && { command: readCommandMessages(command) }),
  };
  return { body: checked, found };
}

/** Without input a run resumes after its last step, which skips compression, the first one. */
function refuseCompression({ context }: RunBody): void {
  const wanted = context?.["compress"];
  if (wanted === undefined || wanted === null || wanted === false) return;
  const message = "context.compress: a run without input goes on where the last one ended, and compresses nothing.";
  throw new AppError("invalid_parameter", message, {
    suggestion: 'Send the input {"messages": []}, or use POST /threads/:thread_id/compress.',
  });
}

/** How a reader follows a run. */
export interface Following {
  ids: boolean;
  headers: Record<string, string>;
  /** The last event the reader has; default none. */
  after?: number;
  modes?: StreamMode[] | undefined;
  /** Only events of these subgraph paths. Default all. */
  namespaces?: string[] | undefined;
  /** Whether the run is cancelled when this reader disconnects (`on_disconnect`, `cancel_on_disconnect`). */
  cancels?: boolean;
}

/** Streams a run's events, after a `gap` if the log no longer continues from the reader's last event. */
export async function streamRun(
  services: HttpServices,
  context: HttpContext,
  run: Run,
  following: Following,
): Promise<Response> {
  const { ids, modes, namespaces } = following;
  const { after: last = -1 } = following;
  // Nothing is missing before the beginning of a complete log.
  const gap = last === -1 && run.expired_events === -1 ? undefined : await services.runs.findGap(run, last);
  const after = gap?.after ?? last;
  // A frame of the `messages` mode contains the whole message so far, so its reader must see the beginning.
  const from = run.kwargs.stream_mode.includes("messages") ? -1 : after;
  return sendEvents(context, {
    ...(gap && { opening: gapFrame(gap) }),
    // A queued or scheduled run emits nothing yet, and its caller must be able to stop it.
    mayBeQuiet: context.get("waits") === true || run.created_at > run.updated_at,
    open: (signal) => services.runs.followBatches(run, from, signal),
    tail: (signal) => services.runs.tail(run, signal),
    measure: (event) => frameLength(event, { modes, namespaces }),
    frame: createFrames({ ids, after, language: () => languageFor(context, run), modes, namespaces }),
    headers: following.headers,
    logger: services.logger,
    ...(following.cancels && { onDisconnect: () => cancelAfterDisconnect(services, run) }),
  });
}

/** Answers with a run's final values when it is over; `hasBegun`: repeating the request would start another run. */
export function waitForRun(
  services: HttpServices,
  context: HttpContext,
  run: Run,
  waiting: Pick<Following, "headers" | "cancels"> & { hasBegun?: boolean },
): Promise<Response> {
  return sendWhenReady(context, {
    work: async (signal) => finalText(services, await services.runs.wait(run.run_id, signal), context),
    headers: waiting.headers,
    hasBegun: waiting.hasBegun ?? false,
    logger: services.logger,
    ...(waiting.cancels && { onDisconnect: () => cancelAfterDisconnect(services, run) }),
  });
}

async function finalText({ runs, storage, graphs }: HttpServices, run: Run, context: HttpContext): Promise<string> {
  if (run.status === "error" || run.status === "timeout") {
    const error = run.error ?? { error: "Error", message: `The run ended with ${run.status}` };
    return JSON.stringify({ __error__: toWireRunError(error, languageFor(context, run)) });
  }
  return toWireJson(runs.lastValues(run) ?? (await readFinalValues({ storage, graphs }, run)) ?? null);
}

/** The language of a run's error: the reader's, else that of the run's request. */
function languageFor(context: HttpContext, { kwargs }: Run): Language {
  return namedLanguage(context) ?? languageOfWords(JSON.stringify(kwargs.input ?? ""));
}

async function readFinalValues(
  { storage, graphs }: Pick<HttpServices, "storage" | "graphs">,
  run: Run,
): Promise<JsonObject | undefined> {
  const values = await readValues(storage, run.session_id);
  const session = await storage.sessions.get(run.session_id);
  const interrupts = Object.values(session?.interrupts ?? {}).flat();
  if (session === undefined || interrupts.length === 0) return values;
  return { ...(await withCallsOf(session, values, graphs)), __interrupt__: interrupts };
}

/** Cancels a run whose reader disconnected, if the reader asked for that. */
export function cancelAfterDisconnect({ runs, logger }: HttpServices, run: Run): void {
  runs.cancel(run.run_id, { action: "interrupt", wait: false }).catch((error: unknown) => {
    logger.error({ err: error, run_id: run.run_id }, "cancel_after_disconnect_failed");
  });
}

/**
 * The id in `Last-Event-ID`: the reader has everything up to it; absent or `-1` means nothing. 400 for anything else.
 */
export function lastEventId(context: HttpContext): number {
  const text = context.req.header("last-event-id");
  if (text === undefined || text === "") return -1;
  if (!/^(-1|\d{1,15})$/.test(text)) {
    throw new HTTPException(400, { message: "Last-Event-ID must be the id of an event of this stream, or -1" });
  }
  return Number(text);
}

/** The webhook's body: the Run, its last values, its error, and when it worked. */
export function webhookBody(run: Run, { values, started_at, ended_at }: RunEnd): string {
  return toWireJson({
    ...toWireRun(run),
    run_started_at: started_at,
    run_ended_at: ended_at,
    values,
    ...(run.error && { error: run.error.message }),
  });
}
