import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { readEvents } from "@millrace/testing/read-events";
import { startTestServer, type TestServer } from "../support/test-server.ts";

/** Receives traces, and returns a feedback URL for each requested key, except for `refused`. */
let langsmith: Server;
let server: TestServer;
/** The starts of spans, as they were sent. */
const spans: Span[] = [];
/** What was sent with the end of a span, by its id; a short span is sent with its start. */
const ends = new Map<string, z.infer<typeof End>>();
const End = z.looseObject({ id: z.string(), reference_example_id: z.string().nullish() });
const Span = z.looseObject({
  id: z.string(),
  name: z.string(),
  session_name: z.string(),
  reference_example_id: z.string().nullish(),
  extra: z.looseObject({ metadata: z.looseObject({ run_id: z.string().optional() }) }),
});
type Span = z.infer<typeof Span>;
const Sent = z.looseObject({ post: z.array(Span).default([]), patch: z.array(End).default([]) });
beforeAll(async () => {
  langsmith = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      const body = Buffer.concat(parts);
      if (request.url?.endsWith("/info") === true) {
        return response.end(JSON.stringify({ batch_ingest_config: { use_multipart_endpoint: false } }));
      }
      if (request.url?.endsWith("/feedback/tokens") !== true) {
        const text = (request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString("utf8");
        if (text.startsWith("{")) {
          const { post, patch } = Sent.parse(JSON.parse(text));
          spans.push(...post);
          for (const end of patch) ends.set(end.id, end);
        }
        return response.end("{}");
      }
      const asked: { feedback_key: string; run_id: string } = JSON.parse(body.toString("utf8"));
      response.statusCode = asked.feedback_key === "refused" ? 400 : 200;
      const url = `https://judge.example/${asked.run_id}/${asked.feedback_key}`;
      return response.end(JSON.stringify({ id: "1", url, expires_at: "2999-01-01T00:00:00Z" }));
    });
  });
  langsmith.listen(0, "127.0.0.1");
  await once(langsmith, "listening");
  // A listening server has an address.
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

test("GET /info says that runs are traced, also to other projects", async () => {
  const flags = { langsmith: true, langsmith_tracing_replicas: true };
  expect(await (await server.send("GET", "/info")).json()).toMatchObject({ flags });
});

test("feedback_keys give an event with a URL for each key", async () => {
  const { runId, events } = await eventsOf(["thumbs", "stars"]);
  expect(events.map(({ event }) => event)).toEqual(["metadata", "values", "values", "feedback"]);
  expect(events.at(-1)?.data).toEqual({
    thumbs: `https://judge.example/${runId}/thumbs`,
    stars: `https://judge.example/${runId}/stars`,
  });
});

test("a run does not fail when LangSmith refuses a feedback URL", async () => {
  const { events } = await eventsOf(["refused"]);
  expect(events.map(({ event }) => event)).toEqual(["metadata", "values", "values"]);
});

test("langsmith_tracer sends the spans of a run also to its project, with its example id", async () => {
  const [thread, example_id] = [await server.client.threads.create(), crypto.randomUUID()];
  const own = { langsmith_tracer: { project_name: "study", example_id } };
  const body = { assistant_id: "counter", input: { value: 1 }, ...own };
  const run = z
    .looseObject({ run_id: z.string(), kwargs: z.looseObject({}) })
    .parse(await (await server.send("POST", `/threads/${thread.thread_id}/runs`, body)).json());
  expect(run.kwargs).not.toHaveProperty("langsmith_tracer");
  const plain = await server.client.runs.create(thread.thread_id, "counter", {
    input: { value: 1 },
    multitaskStrategy: "enqueue",
  });
  const placesOf = (runId: string): unknown[] =>
    spans
      .filter(({ name, extra }) => name === "LangGraph" && extra.metadata.run_id === runId)
      .map(({ id, session_name, reference_example_id }) => {
        return [session_name, reference_example_id ?? ends.get(id)?.reference_example_id ?? null];
      })
      .toSorted(([one], [other]) => String(one).localeCompare(String(other)));
  const patience = { timeout: 10_000 };
  await expect.poll(() => placesOf(plain.run_id), patience).toEqual([["test", null]]);
  await expect
    .poll(() => placesOf(run.run_id), patience)
    .toEqual([
      ["study", example_id],
      ["test", null],
    ]);
});

test("a langsmith_tracer without a project is ignored, and an invalid one is refused", async () => {
  const start = async (langsmith_tracer: unknown): Promise<number> => {
    const { thread_id } = await server.client.threads.create();
    const body = { assistant_id: "counter", input: { value: 1 }, langsmith_tracer };
    return (await server.send("POST", `/threads/${thread_id}/runs/wait`, body)).status;
  };
  expect([await start({}), await start(null), await start({ project_name: 7 })]).toEqual([200, 200, 400]);
});
