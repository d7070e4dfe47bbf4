import { createHash, timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import type { AuthContext } from "@millrace/engine/manifest/auth";
import type { ApiKey } from "@millrace/engine/config/api-keys";
import type { HttpEnvironment } from "../environment.ts";

/**
 * Who sends a request: the owner of its key, `anyone` where no key is asked for, a `user` of the rules of `auth.path`,
 * `nobody` without a key that is known, `refused` by those rules.
 */
export type Caller =
  | { kind: "anyone" }
  | { kind: "owner"; name: string }
  | { kind: "user"; context: AuthContext }
  | { kind: "nobody"; hasKey: boolean }
  | { kind: "refused" };

/** Why the rules of `auth.path` have refused a request; it goes with the request. */
export const refusals = new WeakMap<Request, Error>();

/** Paths that say nothing about anybody: health checks, the SDK's first look, and the description of the API. */
export const openPaths = /^\/(ok|info|openapi\.json|docs(\/.*)?|ui\/[^/]+\/[^/]+)$/u;

/**
 * Tells callers by the key in `x-api-key` or `Authorization: Bearer`, compared in constant time. With no keys
 * configured everybody is `anyone` (the configuration allows that only on a loopback address).
 */
export function createIdentify(keys: readonly ApiKey[]): (headers: Headers) => Caller {
  const known = keys.map(({ owner, key }) => ({ owner, digest: digestOf(key) }));
  return (headers) => {
    const bearer = /^Bearer (.+)$/i.exec(headers.get("authorization") ?? "")?.[1];
    const given = headers.get("x-api-key") ?? bearer;
    if (given === undefined) return { kind: "nobody", hasKey: false };
    const digest = digestOf(given);
    // Every key is compared, so that the time tells nothing.
    const [match] = known.filter((key) => timingSafeEqual(key.digest, digest));
    return match === undefined ? { kind: "nobody", hasKey: true } : { kind: "owner", name: match.owner };
  };
}

/** Refuses nobody with 401, and as the rules of `auth.path` do, on all paths but the open ones. */
export function requireKey(caller: Caller): MiddlewareHandler<HttpEnvironment> {
  return async (context, next) => {
    if (openPaths.test(context.req.path)) return next();
    if (caller.kind === "refused") throw refusals.get(context.req.raw) ?? new HTTPException(401);
    if (caller.kind !== "nobody") return next();
    const message = caller.hasKey
      ? "The API key is not valid."
      : "An API key is required. Send it in the x-api-key header.";
    throw new HTTPException(401, { message });
  };
}

function digestOf(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
