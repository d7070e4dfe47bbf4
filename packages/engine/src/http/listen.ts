import { createServer, type ServerOptions } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer, type ServerType } from "@hono/node-server";
import type { Config } from "../config/config.ts";
import { AppError } from "../errors/errors.ts";
import { systemCode } from "../errors/system-code.ts";
import { acceptSockets, type Fetch, type Sockets } from "./sockets.ts";

/** How long a request may take to arrive, and its headers alone: one that dribbles in gets 408. */
function requestLimits({ requestSeconds }: Config): ServerOptions {
  const milliseconds = Math.ceil(requestSeconds * 1_000);
  return {
    requestTimeout: milliseconds,
    headersTimeout: Math.min(milliseconds, 20_000),
    // Some clients offer another protocol with every request; only a WebSocket is one to us.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(milliseconds / 4)),
  };
}

/** A port that is listened on. */
interface Listener {
  /** Where, without a slash at the end. */
  url: string;
  /** Ends all connections, after answers that are ready have had half a second to reach their clients. */
  close(): Promise<void>;
}

/** Milliseconds that answers which are ready get to reach their clients when the server closes. */
const flushMilliseconds = 500;

/**
 * Listens at the address of the configuration. Throws `config` when the address is in use, or is not this machine's or
 * this user's.
 */
export async function listen(config: Config, fetch: Fetch): Promise<Listener> {
  const { host, port } = config;
  const server = createAdaptorServer({ createServer, serverOptions: requestLimits(config), fetch });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, host, resolve);
  try {
    await promise;
  } catch (error) {
    throw listenError(error, host, port);
  } finally {
    server.off("error", reject);
  }
  // Longer than the pauses of a client that keeps its connections; node's 5 s makes it meet a closed one.
  if ("keepAliveTimeout" in server) server.keepAliveTimeout = 65_000;
  // A server that listens on a port has an address with one.
  const address = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host.replace(/^\[|\]$/g, "")}]` : host;
  const sockets = acceptSockets(server, fetch, config.bodyLimit);
  return { url: `http://${name}:${address.port}`, close: () => close(server, sockets) };
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
