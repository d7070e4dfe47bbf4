import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import type { HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";

/** Answers a client that has left before; resolves when the answer has ended. */
export async function respondToClosedClient(
  answer: (context: HttpContext) => Response | Promise<Response>,
): Promise<void> {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const { promise: answered, resolve: finish } = Promise.withResolvers<void>();
  const app = new Hono<HttpEnvironment>().get("/", async (context) => {
    const gone = once(context.env.outgoing, "close");
    arrive();
    await gone;
    const response = await answer(context);
    finish();
    return response;
  });
  const server = createAdaptorServer({ createServer, fetch: app.fetch });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an address with one.
  const { port } = server.address() as AddressInfo;
  const client = request({ port, host: "127.0.0.1" }).end();
  client.on("error", () => undefined);
  await arrived;
  client.destroy();
  await answered;
  server.close();
}
