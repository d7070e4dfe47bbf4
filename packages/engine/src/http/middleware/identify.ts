import { createHash } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { AppError } from "../../errors/errors.ts";
import { studioUser, type CustomAuth } from "../../manifest/auth.ts";
import type { ApiKey } from "../../config/api-keys.ts";
import type { HttpContext, HttpEnvironment } from "../environment.ts";
import { isLoopbackHost, isLoopbackName, studioOrigin } from "./gate.ts";

/** What identifies callers. */
interface IdentifyOptions {
  /** The current API keys. */
  apiKeys: () => readonly ApiKey[];
  auth: CustomAuth | undefined;
  /** The address the server listens on. */
  host: string;
  /** Origins that may call it, without `*`. */
  origins: readonly string[];
  /** Whether this server answers `/` and serves the console, which routes of `http.app` may replace. */
  hasRoot: boolean;
  /** The same for the operation paths. */
  hasOperation: boolean;
  hasConsole: boolean;
}

/** Paths without user data: health checks, the SDK's first request, and the API's description. */
const openPaths = /^\/(ok|info|openapi\.json|docs(\/.*)?|ui\/[^/]+\/[^/]+)$/u;
/** Operation paths: they reveal no owner's data, and `/metrics` has its own check. */
const operationPaths = /^\/(metrics|health\/(live|ready))$/u;
/** The console's paths: its files are the same for everyone, and its page asks for the key. */
const consolePaths = /^\/console(\/.*)?$/u;

/** Headers by which a proxy marks forwarded requests. */
const forwarding = /^(forwarded|via|x-real-ip|cf-connecting-ip|true-client-ip|x-client-ip|x-forwarded-.+)$/u;

/**
 * Identifies the caller: by its key, then by the rules of `auth.path`. Refuses with 401, or as those rules do, on all
 * but public paths. Throws `config` at the start if the server is reachable by others without authentication.
 */
export function identifyCaller(options: IdentifyOptions): MiddlewareHandler<HttpEnvironment> {
  requireAuthentication(options);
  const { apiKeys, auth, hasRoot, hasOperation, hasConsole } = options;
  const isOpen = (path: string): boolean =>
    openPaths.test(path) ||
    (hasOperation && operationPaths.test(path)) ||
    (hasRoot && path === "/") ||
    (hasConsole && consolePaths.test(path));
  if (auth === undefined && apiKeys().length === 0) {
    return async (context, next) => {
      context.set("caller", { kind: "anyone" });
      return next();
    };
  }
  const ownerOf = keyLookup(apiKeys);
  return async (context, next) => {
    const key = keyOf(context);
    const owner = key === undefined ? undefined : ownerOf(key);
    if (owner !== undefined) context.set("caller", { kind: "owner", name: owner });
    else if (isOpen(context.req.path)) context.set("caller", { kind: "anonymous" });
    else if (auth === undefined || context.req.method === "OPTIONS") throw noKey(key !== undefined);
    else {
      const user = believesStudio(context, options, auth) ? studioUser : await auth.authenticate(withoutBody(context));
      context.set("caller", { kind: "user", context: user });
      // Routes of `http.app` read it.
      context.set("auth", user);
    }
    return next();
  };
}

/** The owner of a key. Looked up by SHA-256, so that timing reveals nothing about other keys. */
function keyLookup(apiKeys: IdentifyOptions["apiKeys"]): (key: string) => string | undefined {
  const digestOf = (key: string): string => createHash("sha256").update(key).digest("base64");
  let known: readonly ApiKey[] | undefined;
  let owners = new Map<string, string>();
  return (key) => {
    const keys = apiKeys();
    if (keys !== known) {
      owners = new Map(keys.map((one) => [digestOf(one.key), one.owner]));
      known = keys;
    }
    return owners.size === 0 ? undefined : owners.get(digestOf(key));
  };
}

function keyOf({ req }: HttpContext): string | undefined {
  return req.header("x-api-key") ?? /^Bearer (.+)$/i.exec(req.header("authorization") ?? "")?.[1];
}

function noKey(hasKey: boolean): HTTPException {
  const message = hasKey ? "The API key is not valid." : "An API key is required. Send it in the x-api-key header.";
  return new HTTPException(401, { message });
}

/**
 * Whether Studio calls from this machine. Its header cannot be verified, so it is trusted only from configured origins
 * and from programs, on requests that no proxy forwarded. A proxy that neither adds headers nor keeps `Host` cannot be
 * detected (docs/graphs/graphs.md).
 */
function believesStudio({ req }: HttpContext, { host, origins }: IdentifyOptions, auth: CustomAuth): boolean {
  if (!auth.allowsStudio || !isLoopbackName(host) || req.header("x-auth-scheme") !== "langsmith") return false;
  const origin = req.header("origin");
  // `*` does not make every page Studio.
  if (origin !== undefined && origin !== studioOrigin && !origins.includes(origin)) return false;
  return isLoopbackHost(req.header("host") ?? "") && !wasForwarded(req.raw.headers);
}

/** Whether a proxy marked the request as forwarded. */
export function wasForwarded(headers: Headers): boolean {
  return [...headers.keys()].some((name) => forwarding.test(name));
}

function requireAuthentication({ apiKeys, auth, host }: IdentifyOptions): void {
  if (isLoopbackName(host) || apiKeys().length > 0 || auth !== undefined) return;
  throw new AppError("config", `HOST is ${host}, which others can reach, and MILLRACE_API_KEYS is empty.`, {
    suggestion:
      "Set MILLRACE_API_KEYS to one or more keys, separated by commas, name auth.path in langgraph.json, or listen on 127.0.0.1.",
  });
}

/** The rules read the request without its body, which is for the routes. */
function withoutBody({ req }: HttpContext): Request {
  return new Request(req.url, { method: req.method, headers: req.raw.headers });
}
