import { AppError } from "@millrace/engine/errors/errors";
import { studioUser, type CustomAuth } from "@millrace/engine/manifest/auth";
import type { ApiKey } from "@millrace/engine/config/api-keys";
import { createIdentify, openPaths, refusals, type Caller } from "./api-key.ts";
import { isLoopbackHost, isLoopbackName, studioOrigin } from "./gate.ts";

/** By what callers are told apart. */
interface IdentifyOptions {
  apiKeys: readonly ApiKey[];
  auth: CustomAuth | undefined;
  /** The address the server listens on. */
  host: string;
  /** Web pages that may call it, as far as they are named. */
  origins: readonly string[];
}

/** What whoever passes a request on says of that. */
const forwarding = /^(forwarded|via|x-real-ip|x-forwarded-.+)$/u;

/**
 * Tells who sends a request: by its key, then by the rules of `auth.path`. Throws `config` where nobody would be asked
 * although others can reach the server.
 */
export function identifyBy(options: IdentifyOptions): (request: Request) => Caller | Promise<Caller> {
  requireDoorkeeper(options);
  const { apiKeys, auth, host } = options;
  if (auth === undefined && apiKeys.length === 0) return () => ({ kind: "anyone" });
  const byKey = createIdentify(apiKeys);
  if (auth === undefined) return ({ headers }) => byKey(headers);
  const pages = new Set([studioOrigin, ...options.origins]);
  const believesStudio = (request: Request): boolean =>
    auth.allowsStudio && isLoopbackName(host) && isStudio(request, pages);
  return async (request) => {
    const caller = apiKeys.length === 0 ? undefined : byKey(request.headers);
    if (caller?.kind === "owner") return caller;
    // A preflight carries no credentials, and what these paths say is for everybody.
    if (request.method === "OPTIONS" || openPaths.test(new URL(request.url).pathname)) {
      return { kind: "nobody", hasKey: false };
    }
    if (believesStudio(request)) return { kind: "user", context: studioUser };
    try {
      return { kind: "user", context: await auth.authenticate(withoutBody(request)) };
    } catch (error) {
      refusals.set(request, error instanceof Error ? error : new Error(String(error)));
      return { kind: "refused" };
    }
  };
}

/**
 * Whether Studio asks, from this machine. Its header says nothing that could be checked, so it is believed only of
 * pages that are named as callers and of programs, and of requests that nobody has passed on from elsewhere. A proxy
 * that neither says so nor keeps `Host` cannot be told (docs/graphs.md).
 */
function isStudio({ headers }: Request, pages: ReadonlySet<string>): boolean {
  if (headers.get("x-auth-scheme") !== "langsmith") return false;
  const origin = headers.get("origin");
  // That all pages may call makes none of them Studio.
  if (origin !== null && !pages.has(origin)) return false;
  return isLoopbackHost(headers.get("host") ?? "") && ![...headers.keys()].some((name) => forwarding.test(name));
}

/** Throws `config` for a server that others can reach and that asks nobody who they are. */
function requireDoorkeeper({ apiKeys, auth, host }: IdentifyOptions): void {
  if (isLoopbackName(host) || apiKeys.length > 0 || auth !== undefined) return;
  throw new AppError("config", `HOST is ${host}, which others can reach, and MILLRACE_API_KEYS is empty.`, {
    suggestion:
      "Set MILLRACE_API_KEYS to one or more keys, separated by commas, name auth.path in langgraph.json, or listen on 127.0.0.1.",
  });
}

/** The rules read what a request says of itself; its body is for the routes. */
function withoutBody({ url, method, headers }: Request): Request {
  return new Request(url, { method, headers });
}
