import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import { expect, test } from "vitest";
import type { HttpContext, HttpEnvironment } from "../../src/http/environment.ts";
import { wholeAnswer } from "../../src/http/chat-answer.ts";
import { sendEvents } from "../../src/http/sse.ts";
import { sendWhenReady } from "../../src/http/wait.ts";
import { createLogger } from "../../src/logger.ts";

const logger = createLogger("silent");

/** Answers a client that has left before; resolves when the answer has ended. */
async function answerNobody(answer: (context: HttpContext) => Response | Promise<Response>): Promise<void> {
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

test("events are not opened for a reader that has left before, and its leaving is told", async () => {
  let left = 0;
  const { promise: ended, resolve: end } = Promise.withResolvers<boolean>();
  async function* quiet(signal: AbortSignal): AsyncGenerator<string[]> {
    yield [];
    if (!signal.aborted) await once(signal, "abort");
    end(signal.aborted);
  }
  await answerNobody((context) =>
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

test("nothing is waited for on behalf of a client that has left before, and its leaving is told", async () => {
  let left = 0;
  await answerNobody((context) =>
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

test("no words are gathered for a client that has left while its run was begun, and its leaving is told", async () => {
  let left = 0;
  let told: unknown = "nothing yet";
  await answerNobody(async (context) => {
    told = await wholeAnswer(context, {
      events: async function* (signal) {
        yield [];
        if (!signal.aborted) await once(signal, "abort");
      },
      onDisconnect: () => {
        left += 1;
      },
    });
    return RESPONSE_ALREADY_SENT;
  });
  expect([told, left]).toEqual([undefined, 1]);
});
