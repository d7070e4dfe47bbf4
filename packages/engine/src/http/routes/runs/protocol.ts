import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import type { RunEvent } from "../../../run-events.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
} from "../../environment.ts";
import { frameLength } from "../../responses/frames.ts";
import { handleCommand, ProtocolAnswerShape, ProtocolCommand } from "../../protocol/session/commands.ts";
import { requestOrigin } from "../../requests/runs.ts";
import { EventFilter, type ProtocolEvent, protocolFrame } from "../../protocol/events/protocol-event.ts";
import { serveSocket } from "../../protocol/session/socket.ts";
import { readRecord } from "../../protocol/session/thread-record.ts";
import { sendEvents } from "../../responses/sse.ts";
import { Id, jsonBody, path, submissionOf } from "../../validate.ts";
import { namedLanguage, toWireJson } from "../../responses/wire.ts";

const ThreadPath = z.object({ thread_id: Id });
const tag = "Event protocol";

/** `/threads/:id/commands` and `/threads/:id/stream/events`: the event protocol. */
export function protocolRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  commandRoute(routes);
  recordRoute(routes);
  socketRoute(routes);
  return routes;
}

function commandRoute(routes: HttpApp): void {
  routes.post(
    "/threads/:thread_id/commands",
    describe({
      tag,
      summary: "Send a command of the event protocol; what it refuses is an answer too",
      answer: ProtocolAnswerShape,
      headers: ["Idempotency-Key"],
    }),
    path(ThreadPath),
    jsonBody(ProtocolCommand),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id: threadId } = context.req.valid("param");
      const command = context.req.valid("json");
      const submission = submissionOf(context, command);
      const source = { threadId, ...requestOrigin(context), submission, language: namedLanguage(context) };
      const answer = await handleCommand(services, source, command);
      return context.body(toWireJson(answer), 200, { "content-type": "application/json" });
    },
  );
}

function recordRoute(routes: HttpApp): void {
  routes.post(
    "/threads/:thread_id/stream/events",
    describe({
      tag,
      summary: "Follow a thread: what has happened, then what happens, over all its runs",
      events: true,
      headers: ["Last-Event-ID"],
    }),
    path(ThreadPath),
    jsonBody(EventFilter),
    (context) => {
      const services = servicesOf(context);
      const { thread_id } = context.req.valid("param");
      const filter = { since: sinceOf(context), ...context.req.valid("json") };
      return sendEvents<ProtocolEvent | RunEvent>(context, {
        mayBeQuiet: true,
        open: (signal) => eventsOf(services, thread_id, filter, signal),
        tail: (signal) => newsOf(services, thread_id, signal),
        measure: (event) => ("event" in event ? frameLength(event, {}) : 0),
        frame: (event) => ("method" in event ? protocolFrame(event) : ""),
        headers: { "content-location": `/threads/${thread_id}/stream/events` },
        logger: services.logger,
      });
    },
  );
}

function socketRoute(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/stream/events",
    describe({
      tag,
      summary: "The same as a WebSocket: commands in, answers and events out",
      errors: { 426: "Not asked for as a WebSocket" },
    }),
    path(ThreadPath),
    (context) => {
      const services = servicesOf(context);
      const { acceptSocket } = context.env;
      if (acceptSocket === undefined) {
        context.header("Upgrade", "websocket");
        throw new HTTPException(426, { message: "This address is a WebSocket. POST it for server-sent events." });
      }
      const { thread_id: threadId } = context.req.valid("param");
      const source = { threadId, ...requestOrigin(context) };
      acceptSocket((socket) => serveSocket(services, source, socket));
      return context.body(null, 204);
    },
  );
}

async function* eventsOf(
  services: HttpServices,
  threadId: string,
  filter: EventFilter,
  signal: AbortSignal,
): AsyncGenerator<ProtocolEvent[]> {
  for await (const part of readRecord(services, threadId, filter, signal))
    if (typeof part === "object") yield part.events;
}

async function* newsOf({ runs }: HttpServices, threadId: string, signal: AbortSignal): AsyncGenerator<RunEvent[]> {
  for await (const batch of runs.followSession(threadId, "now", signal)) yield batch.map(({ event }) => event);
}

/** A reconnecting reader sends its last event id, which ends with the sequence number. */
function sinceOf(context: HttpContext): number | undefined {
  const place = /:(?<seq>\d{1,16})$/u.exec(context.req.header("last-event-id") ?? "")?.groups?.["seq"];
  return place === undefined ? undefined : Number(place);
}
