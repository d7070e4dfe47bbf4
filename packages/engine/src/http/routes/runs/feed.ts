import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import type { WebSocket } from "ws";
import { z } from "zod";
import type { FeedEvent } from "../../../sessions/overview/server-feed.ts";
import { newsFrame } from "../../responses/news.ts";
import { sendEvents } from "../../responses/sse.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
} from "../../environment.ts";
import { createOutput } from "../../protocol/session/output.ts";
import { keepAlive } from "../../protocol/session/socket.ts";
import { query } from "../../validate.ts";

const FeedQuery = z.object({
  since: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .describe("`seq` of the last event the reader has, where it cannot send Last-Event-ID"),
});

/** The state when the reader connects. */
interface FeedState {
  seq: number;
  type: "state";
  /** Questions waiting for a person. */
  waiting: number;
  /** Runs not yet over. */
  working: number;
}
type FeedItem = FeedState | FeedEvent;

/** `/feed`: changes in all threads of the caller, as server-sent events or over a WebSocket. */
export function feedRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/feed",
    describe({
      tag: "Threads",
      summary: "Follow what changes in all threads, from Last-Event-ID on; a WebSocket gets the same as JSON",
      events: true,
      headers: ["Last-Event-ID"],
    }),
    query(FeedQuery),
    (context) => {
      const services = servicesOf(context);
      const since = sinceOf(context) ?? context.req.valid("query").since;
      const { acceptSocket } = context.env;
      if (acceptSocket !== undefined) {
        acceptSocket((socket) => serveSocket(services, since, socket));
        return context.body(null, 204);
      }
      return sendEvents<FeedItem>(context, {
        mayBeQuiet: true,
        open: (signal) => itemsOf(services, since, signal),
        tail: (signal) => newsOf(services, signal),
        measure: (item) => frameOf(item).length,
        frame: frameOf,
        headers: { "content-location": "/feed" },
        logger: services.logger,
      });
    },
  );
  return routes;
}

function frameOf(item: FeedItem): string {
  return `id: ${item.seq}\n${newsFrame(item)}`;
}

/** The current state, then changes; a reader whose last event has expired gets a notice in between. */
async function* itemsOf(
  { overview }: Pick<HttpServices, "overview">,
  since: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<FeedItem[]> {
  const { from, isResumed } = await overview.resume(since);
  const state: FeedState = { seq: from, type: "state", ...(await overview.counts()) };
  yield since === undefined || isResumed ? [state] : [state, { seq: from, type: "resync" }];
  yield* overview.follow(from, signal);
}

/** Changes from now on. */
async function* newsOf(
  { overview }: Pick<HttpServices, "overview">,
  signal: AbortSignal,
): ReturnType<HttpServices["overview"]["follow"]> {
  yield* overview.follow((await overview.resume(undefined)).from, signal);
}

function serveSocket(services: HttpServices, since: number | undefined, socket: WebSocket): void {
  const output = createOutput(socket);
  const gone = new AbortController();
  const stopPings = keepAlive(socket);
  socket.on("close", () => {
    stopPings();
    gone.abort();
  });
  socket.on("error", () => socket.terminate());
  const send = async (): Promise<void> => {
    for await (const items of itemsOf(services, since, gone.signal)) {
      for (const item of items) await output.sendInTurn(JSON.stringify(item));
    }
  };
  // Ends when the reader disconnects, or when the server stops, after which the reader reconnects.
  send().then(
    () => socket.close(1001, "The feed has ended."),
    (error: unknown) => {
      if (!gone.signal.aborted) services.logger.debug({ err: error }, "feed_ended");
      socket.close(1001, "The server is stopping.");
    },
  );
}

function sinceOf(context: HttpContext): number | undefined {
  const text = context.req.header("last-event-id");
  if (text === undefined || text === "" || text === "-1") return undefined;
  if (!/^\d{1,16}$/u.test(text)) {
    throw new HTTPException(400, { message: "Last-Event-ID must be the id of an event of this stream" });
  }
  return Number(text);
}
