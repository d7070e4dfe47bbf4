import type { MiddlewareHandler } from "hono";
import { describeRoute, resolver, type DescribeRouteOptions } from "hono-openapi";
import type { z } from "zod";

/** A route's page in `/openapi.json`. */
export interface RouteDescription {
  tag: "Meta" | "Assistants" | "Threads" | "Thread state" | "Approvals" | "Thread runs" | "Stateless runs";
  summary: string;
  /** The JSON of a success. Without one it is `empty` (204) or `events`. */
  answer?: z.ZodType;
  empty?: boolean;
  /** Server-sent events; may stand beside `answer` nowhere. */
  events?: boolean;
  /** The error statuses besides 400, with their reason. */
  errors?: Record<number, string>;
}

/** Describes a route: its answer, and its errors as the plain texts they are. */
export function describe(route: RouteDescription): MiddlewareHandler {
  const responses: NonNullable<DescribeRouteOptions["responses"]> = {};
  if (route.empty === true) responses["204"] = { description: "Done" };
  else if (route.events === true) {
    responses["200"] = {
      description: "Server-sent events; the first is `metadata`, the stream closes when the run is over",
      content: { "text/event-stream": { schema: { type: "string" } } },
    };
  } else {
    responses["200"] = {
      description: "Success",
      ...(route.answer && { content: { "application/json": { schema: resolver(route.answer) } } }),
    };
  }
  for (const [status, description] of Object.entries(route.errors ?? {})) {
    responses[status] = { description, content: { "text/plain": { schema: { type: "string" } } } };
  }
  return describeRoute({ tags: [route.tag], summary: route.summary, responses });
}
