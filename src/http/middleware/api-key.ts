import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import type { HttpEnvironment } from "../environment.ts";

/** Paths that say nothing about anybody: health checks and the SDK's first look. */
const openPaths = new Set(["/ok", "/info"]);

/**
 * Requires one of the keys in `x-api-key` or `Authorization: Bearer`, compared in constant time; 401 otherwise. With no
 * keys configured everything passes (the configuration allows that only on a loopback address).
 */
export function apiKey(keys: readonly string[]): MiddlewareHandler<HttpEnvironment> {
  const known = keys.map(digest);
  return async (context, next) => {
    if (known.length === 0 || openPaths.has(context.req.path)) return next();
    const bearer = /^Bearer (.+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    const given = context.req.header("x-api-key") ?? bearer;
    if (given === undefined) {
      throw new HTTPException(401, { message: "An API key is required. Send it in the x-api-key header." });
    }
    const digested = digest(given);
    // Every key is compared, so that the time tells nothing.
    const matches = known.filter((key) => timingSafeEqual(key, digested)).length;
    if (matches === 0) throw new HTTPException(401, { message: "The API key is not valid." });
    return next();
  };
}

function digest(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
