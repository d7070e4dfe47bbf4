import type { MiddlewareHandler } from "hono";
import { describeRoute, resolver, type DescribeRouteOptions } from "hono-openapi";
import type { z } from "zod";
import { ErrorShape } from "./answers/shapes.ts";

/** A route's page in `/openapi.json`. */
export interface RouteDescription {
  tag:
    | "Meta"
    | "Assistants"
    | "Threads"
    | "Thread state"
    | "Messages"
    | "Approvals"
    | "Operations"
    | "Tools"
    | "Thread runs"
    | "Event protocol"
    | "Stateless runs"
    | "Store"
    | "Crons"
    | "Chat"
    | "MCP"
    | "A2A"
    | "Planner"
    | "Prompts"
    | "Models"
    | "OpenAI";
  summary: string;
  /** The JSON of a success. Without one it is `empty` (204) or `events`. */
  answer?: z.ZodType;
  /** Content types in which the same may be had as text. */
  texts?: readonly string[];
  empty?: boolean;
  /** Further statuses of success, without a body, with their reason. */
  bodiless?: Record<number, string>;
  /** Server-sent events; may stand beside `answer` nowhere. */
  events?: boolean;
  /** Request headers that the route reads. */
  headers?: readonly (keyof typeof requestHeaders)[];
  /** Whether a success says where a run stands in its queue. */
  tellsPosition?: boolean;
  /** The JSON of the error statuses that have one. */
  errorAnswers?: Record<number, z.ZodType>;
  /** The error statuses besides 400, with their reason. */
  errors?: Record<number, string>;
}

const requestHeaders = {
  "Idempotency-Key": "The same request again under the same key gives the same answer; 1 to 255 characters",
  "Last-Event-ID":
    "The id of the last event the reader has; the stream goes on after it. -1 or nothing: from the beginning",
} as const;

const queuePosition = {
  "X-Queue-Position": {
    description: "How many runs of the thread come before this one; missing once it has begun",
    schema: { type: "integer" },
  },
} as const;

const eventStream = [
  "Server-sent events; the first is `metadata`, the stream closes when the run is over.",
  'An event `gap` with `{"from": <id>, "to": <id>}` and no id of its own says which events the log does not hold.',
].join(" ");

const text = { schema: { type: "string" as const } };

/** Describes a route: what it reads in headers, its answer, and its errors: plain texts, or JSON for whoever names it. */
export function describe(route: RouteDescription): MiddlewareHandler {
  const parameters = (route.headers ?? []).map((name) => ({
    in: "header" as const,
    name,
    description: requestHeaders[name],
    schema: { type: "string" as const },
  }));
  return describeRoute({
    tags: [route.tag],
    summary: route.summary,
    responses: responsesOf(route),
    ...(parameters.length > 0 && { parameters }),
  });
}

function responsesOf(route: RouteDescription): NonNullable<DescribeRouteOptions["responses"]> {
  const responses: NonNullable<DescribeRouteOptions["responses"]> = {};
  const headers = route.tellsPosition === true ? { headers: queuePosition } : {};
  if (route.empty === true) responses["204"] = { description: "Done" };
  else if (route.events === true) {
    responses["200"] = {
      description: eventStream,
      ...headers,
      content: { "text/event-stream": { schema: { type: "string" } } },
    };
  } else {
    responses["200"] = {
      description: "Success",
      ...headers,
      ...(route.answer && {
        content: {
          "application/json": { schema: resolver(route.answer) },
          ...Object.fromEntries((route.texts ?? []).map((type) => [type.split(";")[0], text])),
        },
      }),
    };
  }
  for (const [status, description] of Object.entries(route.bodiless ?? {})) responses[status] = { description };
  for (const [status, description] of Object.entries(route.errors ?? {})) {
    responses[status] = {
      description,
      content: {
        "text/plain": { schema: { type: "string" } },
        "application/json": { schema: resolver(route.errorAnswers?.[Number(status)] ?? ErrorShape) },
      },
    };
  }
  return responses;
}
