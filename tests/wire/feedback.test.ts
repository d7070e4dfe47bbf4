import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readEvents } from "../support/read-events.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

/** Takes traces, and gives an address for each key that is asked for, but for `refused`. */
let langsmith: Server;
let server: TestServer;
beforeAll(async () => {
  langsmith = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      if (request.url?.endsWith("/feedback/tokens") !== true) return response.end("{}");
      const asked: { feedback_key: string; run_id: string } = JSON.parse(Buffer.concat(parts).toString("utf8"));
      response.statusCode = asked.feedback_key === "refused" ? 400 : 200;
      const url = `https://judge.example/${asked.run_id}/${asked.feedback_key}`;
      return response.end(JSON.stringify({ id: "1", url, expires_at: "2999-01-01T00:00:00Z" }));
    });
  });
  langsmith.listen(0, "127.0.0.1");
  await once(langsmith, "listening");
  // A server that listens on a port has an address.
  const { port } = langsmith.address() as AddressInfo;
  const endpoint = `http://127.0.0.1:${port}`;
  server = await startTestServer({ langsmith: { enabled: true, apiKey: "lsv2-test", endpoint, project: "test" } });
});
afterAll(async () => {
  await server.remove();
  langsmith.closeAllConnections();
  langsmith.close();
});

async function eventsOf(feedback_keys: string[]) {
  const { thread_id } = await server.client.threads.create();
  const body = { assistant_id: "counter", input: { value: 1 }, feedback_keys };
  const response = await server.send("POST", `/threads/${thread_id}/runs/stream`, body);
  return { runId: response.headers.get("content-location")?.split("/").at(-1), events: await readEvents(response) };
}

test("feedback_keys give an event with an address for each", async () => {
  const { runId, events } = await eventsOf(["thumbs", "stars"]);
  expect(events.map(({ event }) => event)).toEqual(["metadata", "values", "values", "feedback"]);
  expect(events.at(-1)?.data).toEqual({
    thumbs: `https://judge.example/${runId}/thumbs`,
    stars: `https://judge.example/${runId}/stars`,
  });
});

test("a run does not fail because nobody may judge it", async () => {
  const { events } = await eventsOf(["refused"]);
  expect(events.map(({ event }) => event)).toEqual(["metadata", "values", "values"]);
});
