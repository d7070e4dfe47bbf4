import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import type { WebSocket } from "ws";
import type { Config } from "../config/config.ts";
import type { OwnCrons } from "../crons/crons.ts";
import type { LookAtEffect } from "./responses/call-effect.ts";
import type { Graphs } from "../graphs/load.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Cluster, McpStore } from "../storage/cluster.ts";
import type { Health } from "../process/health.ts";
import type { Resource } from "../manifest/custom-parts.ts";
import type { Interfaces } from "../manifest/interfaces.ts";
import type { Logger } from "../logger.ts";
import type { AuthContext } from "../manifest/auth.ts";
import type { OwnerScope } from "../sessions/scope/owner-scope.ts";
import type { CallerUsage } from "../usage/usage-of-callers.ts";
import { AppError } from "../errors/errors.ts";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/**
 * Who sends a request: the owner of its key, `anyone` if no keys exist, a `user` of the rules of `auth.path`,
 * `anonymous` on a public path.
 */
export type Caller =
  | { kind: "anyone" }
  | { kind: "owner"; name: string }
  | { kind: "user"; context: AuthContext }
  | { kind: "anonymous" };

/** Services of the server that do not depend on the caller. */
export interface SharedServices {
  /** UI components that graphs bring. */
  interfaces: Interfaces;
  config: Config;
  graphs: Graphs;
  logger: Logger;
  /** What langgraph.json has disabled. */
  disabled: readonly Resource[];
  /** Whether an agent serves its console here. */
  hasConsole: boolean;
  health: Health;
  metrics: Metrics;
  /** This server among those of its database. */
  cluster: Cluster;
  mcp: McpStore;
}

/** What a handler works with: the caller's scope, and the shared services. */
export interface HttpServices extends OwnerScope, SharedServices {
  /** The caller's crons. */
  crons: OwnCrons;
  /** Usage of model calls, as far as the caller may see it. */
  usage: CallerUsage;
  /** Whether the caller may change what all callers share: the only owner, or `admin`. */
  mayAdminister: boolean;
  /** The effect of a call that waits for approval; missing without an agent that can compute it. */
  lookAtEffect?: LookAtEffect;
}

/**
 * What a handler finds on its context: node's request and response, the WebSocket upgrade if requested, the request id,
 * the caller and its services, whether the answer is long enough to compress, whether the run is queued, and whether a
 * run has begun that a repeated request would begin again.
 */
export interface HttpEnvironment {
  Bindings: HttpBindings & { acceptSocket?: (serve: (socket: WebSocket) => void) => void };
  Variables: {
    requestId: string;
    bodyLimit: number;
    caller: Caller;
    scope?: HttpServices;
    isLong?: boolean;
    waits?: boolean;
    hasBegun?: boolean;
    auth?: AuthContext;
  };
}

/** What an agent adds to the API: its own routes, and their services besides `HttpServices`. */
export interface HttpExtension {
  routes: () => readonly HttpApp[];
  /** The features that `GET /me` lists. */
  features: Readonly<Record<string, boolean>>;
  /** Paths of routes that take bytes besides JSON. */
  takesBytes?: readonly string[];
  /** By the caller's scope; `owner` is null if no keys exist. */
  services: (scope: OwnerScope, owner: string | null) => Pick<HttpServices, "lookAtEffect">;
}

/** A request under way. */
export type HttpContext = Context<HttpEnvironment>;
/** An app, or the routes of one resource. */
export type HttpApp = Hono<HttpEnvironment>;

/** The services of a request, in its caller's scope. Throws if no caller was identified. */
export function servicesOf(context: HttpContext): HttpServices {
  const services = context.get("scope");
  if (services === undefined) throw new Error(`No caller was identified before ${context.req.path}.`);
  return services;
}

/** Throws 403 for an owner who may not change shared resources. */
export function requireAdministration(context: HttpContext): void {
  if (servicesOf(context).mayAdminister) return;
  throw new AppError("permission", "This belongs to all owners, and this key may only read it.", {
    suggestion: "Use a key of the owner admin.",
    message_zh: "此内容由所有用户共用，当前密钥只能查看。请使用管理员（admin）的密钥。",
  });
}

const PackageFile = z.object({ version: z.string() });

function versionIn(file: string): string {
  return PackageFile.parse(JSON.parse(readFileSync(file, "utf8"))).version;
}

/** The folder of an installed package, found through one of its modules (its package.json is not exported). */
function packageFolder(name: string): string {
  const entry = fileURLToPath(import.meta.resolve(name));
  return entry.slice(0, entry.lastIndexOf(name) + name.length);
}

/** Our name, our host, and the version of the LangGraph API that we implement. */
export const versions = {
  millrace: versionIn(join(dirname(fileURLToPath(import.meta.url)), "../../package.json")),
  langgraph: versionIn(join(packageFolder("@langchain/langgraph"), "package.json")),
  api: "1.5.1",
};
