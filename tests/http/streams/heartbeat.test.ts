import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { Client } from "@langchain/langgraph-sdk";
import { Hono } from "hono";
import { Client as SecondClient } from "langgraph-sdk-2";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import type { HttpEnvironment } from "@millrace/engine/http/environment";
import { sendEvents, type EventStream } from "@millrace/engine/http/responses/sse";
import { createLogger } from "@millrace/engine/logger";

afterEach(() => {
  vi.useRealTimers();
});

/** The port of a server that answers every request with these events during the test. */
async function serve(events: EventStream<string>["open"], mayBeQuiet = false): Promise<number> {
  const stream = { mayBeQuiet, open: events, tail: events, measure: () => 0, frame: (event: string) => event };
  const app = new Hono<HttpEnvironment>().get("*", (context) =>
    sendEvents<string>(context, { ...stream, headers: {}, logger: createLogger("silent") }),
  );
  const server = createAdaptorServer({ createServer, fetch: app.fetch });
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A listening server has an address with a port.
  return (server.address() as AddressInfo).port;
}

test("an idle stream sends several heartbeats within 30 seconds, from its start on", async () => {
  async function* quiet(signal: AbortSignal): AsyncGenerator<string[]> {
    yield [];
    if (!signal.aborted) await once(signal, "abort");
  }
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const client = get({ port: await serve(quiet, true), host: "127.0.0.1" });
  const [response] = await once(client, "response");
  let received = "";
  const { promise, resolve } = Promise.withResolvers<void>();
  response.setEncoding("utf8").on("data", (text: string) => {
    received += text;
    if (received.split(": heartbeat\n").length > 5) resolve();
  });
  vi.advanceTimersByTime(30_000);
  await promise;
  expect(received.replaceAll(": heartbeat\n", "")).toBe("");
  client.destroy();
});

test.each([
  ["1.15.0", Client],
  ["2.0.0", SecondClient],
] as const)("a heartbeat is no event for the SDK %s", async (_version, Sdk) => {
  const over = Promise.withResolvers<void>();
  async function* values(): AsyncGenerator<string[]> {
    yield ['event: values\ndata: {"value":1}\nid: 0\n\n'];
    await over.promise;
    yield ['event: values\ndata: {"value":2}\nid: 1\n\n'];
  }
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const client = new Sdk({ apiUrl: `http://127.0.0.1:${await serve(values)}` });
  const events: unknown[] = [];
  for await (const { event, data } of client.runs.joinStream("thread", "run")) {
    events.push({ event, data });
    if (events.length > 1) continue;
    vi.advanceTimersByTime(30_000);
    over.resolve();
  }
  expect(events).toEqual([
    { event: "values", data: { value: 1 } },
    { event: "values", data: { value: 2 } },
  ]);
});
