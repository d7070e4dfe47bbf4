import { randomUUID } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import type { HttpEnvironment } from "../environment.ts";

/** Gives the request its id (the client's `x-request-id` when it is a plain token) and the limit of its body in bytes. */
export function requestBasics(bodyLimit: number): MiddlewareHandler<HttpEnvironment> {
  return async (context, next) => {
    const given = context.req.header("x-request-id");
    const requestId = given !== undefined && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
    context.set("requestId", requestId);
    context.set("bodyLimit", bodyLimit);
    context.header("X-Request-Id", requestId);
    return next();
  };
}
