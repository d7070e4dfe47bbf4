import { once } from "node:events";
import { createServer, request } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { promisify } from "node:util";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import type { HttpEnvironment } from "@millrace/engine/http/environment";
import { limitRequests } from "@millrace/engine/http/middleware/request-basics";
import { acceptSockets } from "@millrace/engine/http/listen";
import { sendEvents, sendWhenReady } from "@millrace/engine/http/responses/sse";
import { respondToClosedClient } from "../../support/requests/closed-client.ts";
import { createLogger } from "@millrace/engine/logger";

const logger = createLogger("silent");

test("a stream is not opened for a client that has already disconnected, and its handler is called", async () => {
  let left = 0;
  const { promise: ended, resolve: end } = Promise.withResolvers<boolean>();
  async function* quiet(signal: AbortSignal): AsyncGenerator<string[]> {
    yield [];
    if (!signal.aborted) await once(signal, "abort");
    end(signal.aborted);
  }
  await respondToClosedClient((context) =>
    sendEvents<string>(context, {
      mayBeQuiet: true,
      open: quiet,
      tail: quiet,
      measure: () => 0,
      frame: (event) => event,
      headers: {},
      logger,
      onDisconnect: () => {
        left += 1;
      },
    }),
  );
  expect(await ended).toBe(true);
  expect(left).toBe(1);
});

test("work is aborted for a client that has already disconnected, and its handler is called", async () => {
  let left = 0;
  await respondToClosedClient((context) =>
    sendWhenReady(context, {
      work: async (signal) => {
        if (!signal.aborted) await once(signal, "abort");
        throw signal.reason;
      },
      headers: {},
      logger,
      onDisconnect: () => {
        left += 1;
      },
    }),
  );
  expect(left).toBe(1);
});

test("a request whose client disconnects before it is counted takes no place of the limit", async () => {
  const limit = limitRequests(1);
  const { promise: counted, resolve: count } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const app = new Hono<HttpEnvironment>();
  app.use(async (context, next) => {
    if (context.req.path !== "/left") return next();
    const gone = once(context.env.outgoing, "close");
    arrive();
    await gone;
    await next();
    count();
  });
  app.use(limit);
  app.get("*", (context) => context.text("here"));
  const server = createAdaptorServer({ createServer, fetch: app.fetch });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening server has an address with a port.
  const { port } = server.address() as AddressInfo;
  const client = request({ port, host: "127.0.0.1", path: "/left" }).end();
  client.on("error", () => undefined);
  await arrived;
  client.destroy();
  await counted;
  const answer = await fetch(`http://127.0.0.1:${port}/other`, { headers: { connection: "close" } });
  expect([answer.status, await answer.text()]).toEqual([200, "here"]);
  server.close();
});

test("the stream of a refused WebSocket handshake is aborted", async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<boolean>();
  const app = new Hono<HttpEnvironment>().get("/stream", (context) =>
    sendEvents<string>(context, {
      mayBeQuiet: true,
      open: async function* (signal) {
        yield ["data: 1\n\n"];
        if (!signal.aborted) await once(signal, "abort");
        end(signal.aborted);
      },
      tail: async function* () {},
      measure: () => 0,
      frame: (event) => event,
      headers: {},
      logger,
    }),
  );
  const server = createServer();
  const sockets = acceptSockets(server, app.fetch, 1_000);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening server has an address with a port.
  const { port } = server.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/stream`);
  const [code] = (await once(socket, "close")) as [number];
  expect(code).toBeGreaterThanOrEqual(4000);
  expect(await ended).toBe(true);
  sockets.close();
  server.close();
});

test("a WebSocket handshake that is refused before it is accepted leaves no connection", async () => {
  const server = createServer();
  const sockets = acceptSockets(server, () => new Response("no", { status: 403 }), 1_000);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening server has an address with a port.
  const { port } = server.address() as AddressInfo;
  // This client keeps its side half open.
  const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  client.on("error", () => undefined);
  client.write(
    "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  client.resume();
  await once(client, "end");
  const open = promisify<number>((done) => server.getConnections(done));
  await expect.poll(() => open()).toBe(0);
  client.destroy();
  sockets.close();
  server.close();
});
