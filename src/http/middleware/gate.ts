import type { MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import type { HttpContext, HttpEnvironment } from "../environment.ts";

/** LangGraph Studio's page; it talks to local servers from the browser. */
export const studioOrigin = "https://smith.langchain.com";

const exposedHeaders = "Content-Location, Location, X-Pagination-Total, X-Pagination-Next, X-Queue-Position";
const allowedMethods = "GET, HEAD, PUT, POST, DELETE, PATCH";
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];

/** Who may talk to the server. */
export interface GateOptions {
  /** The address it listens on. */
  host: string;
  /** Names besides the loopback ones that `Host` may say. */
  allowedHosts: string[];
  /** Web pages that may call it; `*` is all of them. */
  corsOrigins: string[];
}

/**
 * Keeps web pages from driving a local server (S1 in reliability.md): a `Host` that is not ours (DNS rebinding) and an
 * `Origin` that is neither ours, Studio's nor configured get 403 before any handler; a body that is neither JSON nor
 * text gets 415. Answers preflights and writes the CORS headers. On a public address, where a key is required, `Host`
 * is checked only when names are configured.
 */
export function gate(options: GateOptions): MiddlewareHandler<HttpEnvironment> {
  const isLoopback = [...loopbackNames, "::1"].includes(options.host);
  const hosts = new Set([...loopbackNames, options.host, ...options.allowedHosts].map((name) => name.toLowerCase()));
  const checksHost = isLoopback || options.allowedHosts.length > 0;
  const origins = new Set([studioOrigin, ...options.corsOrigins]);
  const allowsAll = origins.has("*");
  return async (context, next) => {
    const host = context.req.header("host") ?? "";
    if (checksHost && !hosts.has(hostName(host))) throw foreignHost(host);
    const origin = context.req.header("origin");
    if (origin !== undefined) {
      if (!allowsAll && !origins.has(origin) && !isOwn(origin, host)) throw foreignOrigin(origin);
      allowOrigin(context, origin);
      if (context.req.method === "OPTIONS") return preflight(context);
    }
    checkContentType(context);
    return next();
  };
}

/** The name in a Host header: lower case, without the port; anything odd is kept and so refused. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "");
}

/** A page we served ourselves, such as `/docs`. */
function isOwn(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

function foreignHost(host: string): HTTPException {
  const message = `Host "${printable(host)}" is not one of this server's names. Add it to MILLRACE_ALLOWED_HOSTS if it is.`;
  return new HTTPException(403, { message });
}

function foreignOrigin(origin: string): HTTPException {
  const message = `Origin "${printable(origin)}" may not call this server. Add it to MILLRACE_CORS_ORIGINS to allow it.`;
  return new HTTPException(403, { message });
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, 200);
}

function allowOrigin(context: HttpContext, origin: string): void {
  context.header("Access-Control-Allow-Origin", origin);
  context.header("Access-Control-Expose-Headers", exposedHeaders);
  context.header("Vary", "Origin");
}

function preflight(context: HttpContext): Response {
  context.header("Access-Control-Allow-Methods", allowedMethods);
  const wanted = context.req.header("access-control-request-headers");
  if (wanted !== undefined) context.header("Access-Control-Allow-Headers", wanted);
  // Browsers that guard private networks ask before a public page may reach a local server; the origin was checked.
  if (context.req.header("access-control-request-private-network") === "true") {
    context.header("Access-Control-Allow-Private-Network", "true");
  }
  return context.body(null, 204);
}

/** JSON, text (which Studio sends) or nothing said; a form can be posted by any page without asking. */
function checkContentType(context: HttpContext): void {
  if (context.req.method === "GET" || context.req.method === "HEAD") return;
  const type = context.req.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "" || type === "application/json" || type === "text/plain" || type.endsWith("+json")) return;
  const message = `Content type "${printable(type)}" is not supported. Send application/json.`;
  throw new HTTPException(415, { message });
}
