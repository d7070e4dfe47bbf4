import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerOptions,
  ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer, getRequestListener, type ServerType } from "@hono/node-server";
import type { Config } from "../config/config.ts";
import { AppError, systemCode } from "../errors/errors.ts";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import type { HttpEnvironment } from "./environment.ts";

/** Time limits for a request and its headers: a slow trickle gets 408. */
function requestLimits({ requestSeconds }: Config): ServerOptions {
  const milliseconds = Math.ceil(requestSeconds * 1_000);
  return {
    requestTimeout: milliseconds,
    headersTimeout: Math.min(milliseconds, 20_000),
    // Some clients offer other protocols with every request; we upgrade WebSockets only.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(milliseconds / 4)),
  };
}

/** A port being listened on. */
interface Listener {
  /** The URL, without a trailing slash. */
  url: string;
  /** From now on requests go to this one, without a promise in between, which would be a part of each. */
  answerBy(fetch: Fetch): void;
  /** Closes all connections, after finished responses had half a second to reach their clients. */
  close(): Promise<void>;
}

/** Milliseconds for finished responses to reach their clients when the server closes. */
const flushMilliseconds = 500;

/** Ports tried if none is configured. */
const triedPorts = 20;

/**
 * Listens at the configured address. If its port is in use and was not configured explicitly, takes the next free one.
 * Throws `config` if the address is in use, or not available to this machine or user.
 */
export async function listen(config: Config, fetch: Fetch): Promise<Listener> {
  const { host, port, portIsDefault } = config;
  const server = createAdaptorServer({ createServer, serverOptions: requestLimits(config), fetch });
  for (let next = port; ; next += 1) {
    try {
      await listenAt(server, next, host);
      break;
    } catch (error) {
      const triesNext = portIsDefault && systemCode(error) === "EADDRINUSE" && next < port + triedPorts - 1;
      if (!triesNext) throw listenError(error, host, next);
    }
  }
  // Longer than the idle time of clients with keep-alive; with node's 5 s they would hit closed connections.
  if ("keepAliveTimeout" in server) server.keepAliveTimeout = 65_000;
  // A server that listens on a port has an address with one.
  const address = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host.replace(/^\[|\]$/g, "")}]` : host;
  let current = fetch;
  const sockets = acceptSockets(server, (request, bindings) => current(request, bindings), config.bodyLimit);
  return {
    url: `http://${name}:${address.port}`,
    answerBy(next) {
      current = next;
      server.removeAllListeners("request");
      // Its promise never rejects, and node takes none.
      server.on("request", getRequestListener(next) as RequestListener);
    },
    close: () => close(server, sockets),
  };
}

async function listenAt(server: ServerType, port: number, host: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, host, resolve);
  try {
    await promise;
  } finally {
    server.off("error", reject);
    server.off("listening", resolve);
  }
}

async function close(server: ServerType, sockets: Sockets): Promise<void> {
  sockets.close();
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  const timer = setTimeout(() => "closeAllConnections" in server && server.closeAllConnections(), flushMilliseconds);
  if ("closeIdleConnections" in server) server.closeIdleConnections();
  await closed.promise;
  clearTimeout(timer);
}

function listenError(error: unknown, host: string, port: number): unknown {
  const options = { suggestion: "Set HOST and PORT to an address of this machine that is free.", cause: error };
  switch (systemCode(error)) {
    case "EADDRINUSE":
      return new AppError("config", `Port ${port} on ${host} is in use.`, {
        suggestion: `Stop the program that uses it, or choose another port: PORT=${port === 65_535 ? 2024 : port + 1}.`,
        cause: error,
      });
    case "EACCES":
      return new AppError("config", `This user may not listen on port ${port}.`, options);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new AppError("config", `HOST ${host} is not an address of this machine.`, options);
    default:
      return error;
  }
}

/** The whole API; see `Api` in `app.ts`. */
type Fetch = (request: Request, bindings: object) => Response | Promise<Response>;

/** Milliseconds for sockets to close when the server closes. */
const closeMilliseconds = 500;

/** The sockets of a server. */
interface Sockets {
  /** Closes open sockets; their clients reconnect when the server returns. */
  close(): void;
}

/**
 * Lets routes answer with a WebSocket. The request passes the whole API, so the same rules refuse foreign pages, wrong
 * keys and wrong paths. Browsers do not see why a handshake fails: a refusal to an allowed caller is accepted, then
 * closed with 4000 and the HTTP status.
 */
export function acceptSockets(server: ServerType, fetch: Fetch, bodyLimit: number): Sockets {
  let opening: Promise<WebSocketServer> | undefined;
  const open = async (): Promise<WebSocketServer> => {
    const ws = await import("ws");
    return new ws.WebSocketServer({ noServer: true, maxPayload: bodyLimit, handleProtocols: chosenProtocol });
  };
  const onUpgrade = async (incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const sockets = await (opening ??= open());
    let serve: ((socket: WebSocket) => void) | undefined;
    const outgoing = new ServerResponse(incoming);
    // node-server builds its requests from node's; an upgrade has no body to read.
    const request = new Request(new URL(incoming.url ?? "/", "http://localhost"), { headers: headersOf(incoming) });
    const bindings: HttpEnvironment["Bindings"] = { incoming, outgoing, acceptSocket: (taken) => (serve = taken) };
    const response = await fetch(request, bindings);
    const { status } = response;
    if (status === 403) return refuse(socket, status, await response.text());
    // Tells a route that would stream over this connection that it is gone.
    if (serve === undefined) outgoing.emit("close");
    const reason = serve === undefined ? await response.text() : "";
    sockets.handleUpgrade(incoming, socket, head, (accepted) => {
      if (serve === undefined) accepted.close(4000 + status, shortened(reason));
      else serve(accepted);
    });
  };
  server.on("upgrade", (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    onUpgrade(incoming, socket, head).catch(() => socket.destroy());
  });
  return {
    close() {
      void opening?.then(({ clients }) => {
        for (const client of clients) {
          client.close(1001, "The server is stopping.");
          setTimeout(() => client.terminate(), closeMilliseconds).unref();
        }
      });
    },
  };
}

/** The subprotocol by which a client says that others in its list may contain its key. */
const ownProtocol = "millrace";
/** Subprotocols that stand for a header, since browsers cannot set headers of a WebSocket; followed by base64url. */
const secretProtocol = /^(?<kind>key|bearer)\.(?<secret>[\w-]+)$/u;

/** The subprotocol to answer with: never one that contains a key. */
function chosenProtocol(offered: ReadonlySet<string>): string | false {
  if (offered.has(ownProtocol)) return ownProtocol;
  return [...offered].find((name) => !secretProtocol.test(name)) ?? false;
}

/** The request's headers; keys sent as subprotocols become the usual headers. */
function headersOf({ headers }: IncomingMessage): Headers {
  const { "sec-websocket-protocol": offered, ...others } = headers;
  const list = Object.entries(others).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [value].flat().map((item) => [name, item]),
  );
  const given = new Headers(list);
  for (const name of offered?.split(",") ?? []) {
    const { kind, secret = "" } = secretProtocol.exec(name.trim())?.groups ?? {};
    const text = Buffer.from(secret, "base64url").toString("utf8");
    // Only what a header can hold: words separated by spaces.
    if (kind === undefined || !/^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/u.test(text)) continue;
    const [header, value] = kind === "key" ? ["x-api-key", text] : ["authorization", `Bearer ${text}`];
    if (!given.has(header)) given.set(header, value);
  }
  return given;
}

function refuse(socket: Duplex, status: number, text: string): void {
  const head = `HTTP/1.1 ${status} Forbidden\r\nContent-Type: text/plain\r\nConnection: close`;
  socket.once("finish", () => socket.destroy());
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}

/** A close frame holds 123 bytes. */
function shortened(reason: string): string {
  return Buffer.from(reason)
    .subarray(0, 120)
    .toString("utf8")
    .replace(/\uFFFD+$/u, "");
}
