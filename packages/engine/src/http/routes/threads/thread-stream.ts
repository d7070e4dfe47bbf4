import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import type { Language } from "../../../language.ts";
import { streamModes, type RunEvent, type StreamMode } from "../../../run-events.ts";
import type { SessionPosition } from "../../../runs/follow/follow-session.ts";
import { requireSession } from "../../../sessions/sessions.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
} from "../../environment.ts";
import { createFrames, type Frame, frameLength, gapFrame, namedModes } from "../../responses/frames.ts";
import { languageOf } from "../../responses/wire.ts";
import { sendEvents } from "../../responses/sse.ts";
import { Id, path, query } from "../../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const StreamQuery = z.object({
  stream_mode: z
    .string()
    .optional()
    .describe(
      "run_modes (default: all that the runs tell), lifecycle, state_update, or modes of runs; several by commas",
    ),
});

/** `/threads/:id/stream`: all runs of a thread on one stream. */
export function threadStreamRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/threads/:thread_id/stream",
    describe({
      tag: "Threads",
      summary: "Follow all runs of the thread, present and coming, from Last-Event-ID on",
      events: true,
      headers: ["Last-Event-ID"],
      errors: { 404: "No such thread" },
    }),
    path(ThreadPath),
    query(StreamQuery),
    async (context) => {
      const services = servicesOf(context);
      const { session_id } = await requireSession(services.storage, context.req.valid("param").thread_id);
      const modes = modesOf(namedModes(context));
      const { place, opening, had } = await startOf(services, session_id, context);
      return sendEvents(context, {
        ...(opening !== undefined && { opening }),
        mayBeQuiet: true,
        open: (signal) => services.runs.followSession(session_id, place, signal),
        tail: (signal) => services.runs.followSession(session_id, "now", signal),
        measure: ({ event }) => frameLength(event, { modes }),
        frame: framesOfRuns({ modes, language: () => languageOf(context) }, had),
        headers: placeOf(session_id, context),
        logger: services.logger,
      });
    },
  );
  return routes;
}

/** Where a client comes back by itself, to the same modes, when the server stops. */
function placeOf(sessionId: string, context: HttpContext): Record<string, string> {
  const location = `/threads/${sessionId}/stream`;
  return { "content-location": location, location: location + new URL(context.req.url).search };
}

/** The run modes for a thread stream's modes; `undefined`: all. */
function modesOf(names: string[] | undefined): StreamMode[] | undefined {
  if (names === undefined || names.includes("run_modes")) return undefined;
  return streamModes.filter(
    (mode) => names.includes(mode) || (names.includes("state_update") && (mode === "values" || mode === "updates")),
  );
}

/** Writes each run's events with ids that name the run: `<run id>.<number>`. Runs follow one another. */
function framesOfRuns(
  { modes, language }: { modes: StreamMode[] | undefined; language: () => Language },
  had: LastEvent | undefined,
): (item: { run_id: string; event: RunEvent }) => Frame {
  let current: { run_id: string; frame: (event: RunEvent) => Frame } | undefined;
  return ({ run_id, event }) => {
    if (current?.run_id !== run_id) {
      const after = had?.run_id === run_id ? had.id : -1;
      // Events outside a run have no id: a reader resumes after a run's last event.
      const ids = run_id !== "";
      const options = { ids, idPrefix: `${run_id}.`, after, language, ...(modes && { modes }) };
      current = { run_id, frame: createFrames(options) };
    }
    return current.frame(event);
  };
}

const EventId = /^(?<run>[0-9a-f-]{36})\.(?<id>\d{1,15})$/u;

/** The reader's last event. */
interface LastEvent {
  run_id: string;
  id: number;
}

/** The start of the stream. A reader whose last event has expired gets a notice and continues with what works now. */
async function startOf(
  { runs }: HttpServices,
  sessionId: string,
  context: HttpContext,
): Promise<{ place: SessionPosition; opening?: string; had?: LastEvent }> {
  const text = context.req.header("last-event-id");
  if (text === undefined || text === "") return { place: "open" };
  if (text === "-1") return { place: "all" };
  const { run: run_id, id } = EventId.exec(text)?.groups ?? {};
  if (run_id === undefined || id === undefined) {
    throw new HTTPException(400, { message: "Last-Event-ID must be the id of an event of this stream, or -1" });
  }
  const run = await runs.get(run_id);
  if (run?.session_id !== sessionId) {
    return { place: "open", opening: `event: gap\ndata: ${JSON.stringify({ run_id })}\n\n` };
  }
  const gap = await runs.findGap(run, Number(id));
  const had = { run_id, id: gap?.after ?? Number(id) };
  // A frame of the `messages` mode contains the whole message so far, so its reader must see the beginning.
  const place = { run_id, id: run.kwargs.stream_mode.includes("messages") ? -1 : had.id };
  return { place, had, ...(gap && { opening: gapFrame(gap) }) };
}
