import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A received request. */
export interface WebHit {
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
}

/** A response: `hang` never ends the body, `cut` breaks the connection within it. */
export interface WebReply {
  status?: number;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  ends?: "hang" | "cut";
}

/** A scripted web server on loopback. */
export interface WebServer {
  /** Without a trailing slash. */
  url: string;
  /** `127.0.0.1:port`, for the list of allowed private addresses. */
  host: string;
  port: number;
  hits: WebHit[];
  close(): Promise<void>;
}

/** Starts a web server; close it in the test. */
export async function startWebServer(reply: (hit: WebHit) => WebReply | Promise<WebReply>): Promise<WebServer> {
  const hits: WebHit[] = [];
  const server = createServer((request, response) => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? "/", "http://127.0.0.1");
    const hit = { path, query, headers: request.headers };
    hits.push(hit);
    void Promise.resolve(reply(hit)).then(({ status = 200, headers = {}, body = "", ends }) => {
      response.writeHead(status, { "content-type": "text/plain", ...headers });
      if (ends === undefined) response.end(body);
      else response.write(body, () => ends === "cut" && response.destroy());
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    port,
    hits,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
