import { createHash } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { AppError } from "../../errors/errors.ts";
import { studioUser, type CustomAuth } from "../../manifest/auth.ts";
import type { ApiKey } from "../../config/api-keys.ts";
import type { HttpContext, HttpEnvironment } from "../environment.ts";
import { isLoopbackHost, isLoopbackName, studioOrigin } from "./gate.ts";

/** By what callers are told apart. */
interface IdentifyOptions {
  /** The clients' keys at this moment. */
  apiKeys: () => readonly ApiKey[];
  auth: CustomAuth | undefined;
  /** The address the server listens on. */
  host: string;
  /** Web pages that may call it, as far as they are named. */
  origins: readonly string[];
  /** Whether this server answers at its root, and serves the console: no route of `http.app` does it in its place. */
  hasRoot: boolean;
  /** The same for the paths of an operator. */
  hasOperation: boolean;
  hasConsole: boolean;
}

/** Paths without data of any owner: health checks, the SDK's first look, and the description of the API. */
const openPaths = /^\/(ok|info|openapi\.json|docs(\/.*)?|ui\/[^/]+\/[^/]+)$/u;
/** Those of an operator: they say nothing of any owner, and `/metrics` has a check of its own. */
const operationPaths = /^\/(metrics|health\/(live|ready))$/u;
/** Those of the console: its files are the same for everybody, and its page asks for the key. */
const consolePaths = /^\/console(\/.*)?$/u;

/** Headers by which a proxy says that it has passed a request on. */
const forwarding = /^(forwarded|via|x-real-ip|cf-connecting-ip|true-client-ip|x-client-ip|x-forwarded-.+)$/u;

/**
 * Sets who sends a request: by its key, then by the rules of `auth.path`. Refuses with 401, or as those rules do, on all
 * paths but the open ones. Throws `config` at the start for a server that others can reach and that asks nobody.
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
    else if (isOpen(context.req.path)) context.set("caller", { kind: "nobody" });
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

/** The owner of a key. It is looked up by its SHA-256, so that the time it takes says nothing about other keys. */
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
 * Whether Studio asks, from this machine. Its header says nothing that could be checked, so it is believed only of
 * pages that are named as callers and of programs, and of requests that no proxy has passed on. A proxy that neither
 * says so nor keeps `Host` cannot be told (docs/graphs/graphs.md).
 */
function believesStudio({ req }: HttpContext, { host, origins }: IdentifyOptions, auth: CustomAuth): boolean {
  if (!auth.allowsStudio || !isLoopbackName(host) || req.header("x-auth-scheme") !== "langsmith") return false;
  const origin = req.header("origin");
  // That all pages may call makes none of them Studio.
  if (origin !== undefined && origin !== studioOrigin && !origins.includes(origin)) return false;
  return isLoopbackHost(req.header("host") ?? "") && !wasForwarded(req.raw.headers);
}

/** Whether a proxy says that it has passed a request on. */
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

/** The rules read what a request says of itself; its body is for the routes. */
function withoutBody({ req }: HttpContext): Request {
  return new Request(req.url, { method: req.method, headers: req.raw.headers });
}
