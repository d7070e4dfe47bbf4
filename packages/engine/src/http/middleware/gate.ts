import type { MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { AppError, errorMessage } from "../../errors/errors.ts";
import type { Cors } from "../../manifest/manifest.ts";
import type { HttpContext, HttpEnvironment } from "../environment.ts";

/** LangGraph Studio's page; it talks to local servers from the browser. */
export const studioOrigin = "https://smith.langchain.com";

const bytesType = "application/octet-stream";
const exposedHeaders =
  "Content-Location, Location, X-Pagination-Total, X-Pagination-Next, X-Queue-Position, X-Thread-Id";
const allowedMethods = "GET, HEAD, PUT, POST, DELETE, PATCH";
const loopbackNames = ["localhost", "127.0.0.1", "[::1]"];
const loopbackOrigin = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/u;

/** Which hosts and origins may call the server. */
export interface GateOptions {
  /** The address it listens on. */
  host: string;
  /** Names besides the loopback ones that `Host` may contain. */
  allowedHosts: string[];
  /** Origins that may call it; `*` allows all. */
  corsOrigins: string[];
  /** What `http.cors` of langgraph.json allows in addition. */
  cors?: Cors | undefined;
  /** Whether every page from this machine may call it, on any port. */
  localPages: boolean;
  /** Called for each refused origin. */
  onRefused: (origin: string) => void;
}

/** Whether a server on this host is reachable from its own machine only. */
export function isLoopbackName(host: string): boolean {
  return [...loopbackNames, "::1"].includes(host);
}

/** Whether a `Host` header is one of the machine's names for itself. */
export function isLoopbackHost(host: string): boolean {
  return loopbackNames.includes(hostName(host));
}

/**
 * Keeps web pages from driving a local server. 403 before any handler for a `Host` that is not ours (DNS rebinding) and
 * for an `Origin` that is neither ours, Studio's, an allowed local page's, nor configured. Answers preflights and
 * writes the CORS headers. On a public address, which requires a key, `Host` is checked only if names are configured.
 */
export function gate(options: GateOptions): MiddlewareHandler<HttpEnvironment> {
  const isLoopback = isLoopbackName(options.host);
  // Configured names are compared without their port, as `Host` is.
  const hosts = new Set([...loopbackNames, options.host, ...options.allowedHosts].map(hostName));
  const checksHost = isLoopback || options.allowedHosts.length > 0;
  const { cors = {} } = options;
  const origins = new Set([studioOrigin, ...options.corsOrigins, ...(cors.allow_origins ?? [])]);
  const pattern = originPattern(cors);
  const answers = headersOf(cors);
  const allowsAll = origins.has("*");
  return async (context, next) => {
    const host = context.req.header("host") ?? "";
    if (checksHost && !hosts.has(hostName(host))) throw foreignHost(host);
    const origin = context.req.header("origin");
    if (origin !== undefined) {
      const isNamed = origins.has(origin) || isOwn(origin, host) || pattern?.test(origin) === true;
      const mayCall = isNamed || allowsAll || (options.localPages && loopbackOrigin.test(origin));
      if (!mayCall) {
        options.onRefused(printable(origin));
        throw foreignOrigin(origin);
      }
      allowOrigin(context, origin, answers);
      // Browser credentials are allowed only for origins configured by name, never for `*`.
      if (isNamed && cors.allow_credentials === true) context.header("Access-Control-Allow-Credentials", "true");
      if (context.req.method === "OPTIONS") return preflight(context, cors);
    }
    return next();
  };
}

/**
 * Refuses with 415 bodies other than JSON and text (which Studio sends): any page can post a form without a preflight.
 * `takesBytes` are the paths of routes that also take bytes, which no page can post without one.
 */
export function contentTypes(takesBytes: () => readonly string[]): MiddlewareHandler<HttpEnvironment> {
  return async (context, next) => {
    if (context.req.method === "GET" || context.req.method === "HEAD") return next();
    const type = context.req.header("content-type")?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
    const isTaken = type === "" || type === "application/json" || type === "text/plain" || type.endsWith("+json");
    if (isTaken || (type === bytesType && takesBytes().includes(context.req.path))) return next();
    const message = `Content type "${printable(type)}" is not supported. Send application/json.`;
    throw new HTTPException(415, { message });
  };
}

/** The whole origin must match: a partial match would let in `https://ours.example.evil.example`. */
function originPattern({ allow_origin_regex: pattern }: Cors): RegExp | undefined {
  if (pattern === undefined) return undefined;
  try {
    return new RegExp(`^(?:${pattern})$`, "u");
  } catch (error) {
    throw new AppError("config", `http.cors.allow_origin_regex is no pattern: ${errorMessage(error)}`, {
      suggestion: "Correct it in langgraph.json.",
      cause: error,
    });
  }
}

/** The headers of every response to an allowed page. */
function headersOf({ expose_headers = [] }: Cors): Record<string, string> {
  const known = new Set(exposedHeaders.toLowerCase().split(", "));
  const others = expose_headers.filter((name) => !known.has(name.toLowerCase()));
  return {
    "Access-Control-Expose-Headers": [exposedHeaders, ...others].join(", "),
  };
}

/** The name in a Host header: lower case, without the port; odd values are kept and thus refused. */
function hostName(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "");
}

/** A page of our own, such as `/docs`. */
function isOwn(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

function foreignHost(host: string): HTTPException {
  const message = `Host "${printable(host)}" is not one of this server's names. Add it to MILLRACE_ALLOWED_HOSTS if it is.`;
  return new HTTPException(403, { message });
}

function foreignOrigin(origin: string): HTTPException {
  const message = `Origin "${printable(origin)}" may not call this server. Add it to MILLRACE_CORS_ORIGINS, or to http.cors.allow_origins of langgraph.json, to allow it.`;
  return new HTTPException(403, { message });
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, 200);
}

function allowOrigin(context: HttpContext, origin: string, answers: Record<string, string>): void {
  context.header("Access-Control-Allow-Origin", origin);
  for (const [name, value] of Object.entries(answers)) context.header(name, value);
  context.header("Vary", "Origin");
}

function preflight(context: HttpContext, cors: Cors): Response {
  context.header("Access-Control-Allow-Methods", cors.allow_methods?.join(", ") ?? allowedMethods);
  if (cors.max_age !== undefined) context.header("Access-Control-Max-Age", String(cors.max_age));
  const wanted = cors.allow_headers?.join(", ") ?? context.req.header("access-control-request-headers");
  if (wanted !== undefined) context.header("Access-Control-Allow-Headers", wanted);
  // Browsers that guard private networks ask before a public page may reach a local server; its origin was checked.
  if (context.req.header("access-control-request-private-network") === "true") {
    context.header("Access-Control-Allow-Private-Network", "true");
  }
  return context.body(null, 204);
}
