import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { readEvents } from "@millrace/testing/read-events";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

/** The requests that Studio is known to send (wire contract, section 5), from the origin of its page. */
const origin = "https://smith.langchain.com";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

/** A request of the page: bodies as text, so that the browser sends no preflight. */
function send(method: string, path: string, body?: object): Promise<Response> {
  return server.send(method, path, body, { origin, "content-type": "text/plain;charset=UTF-8" });
}

async function json<Schema extends z.ZodType>(schema: Schema, response: Promise<Response>): Promise<z.output<Schema>> {
  const answer = await response;
  expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
  expect(answer.status).toBe(200);
  return schema.parse(await answer.json());
}

const State = z.looseObject({
  values: z.record(z.string(), z.unknown()),
  next: z.array(z.string()),
  checkpoint: z.looseObject({ checkpoint_id: z.string(), checkpoint_ns: z.string() }),
});
const Written = z.looseObject({ checkpoint: z.looseObject({ checkpoint_id: z.string() }) });
const WithThread = z.looseObject({ thread_id: z.string() });
const Assistants = z.array(z.looseObject({ assistant_id: z.string(), graph_id: z.string() }));

/** A thread with an ended run of `counter`, and the checkpoint before its step. */
async function finishedThread() {
  const { thread_id } = await json(WithThread, send("POST", "/threads", { metadata: { graph_id: "counter" } }));
  const stream = await send("POST", `/threads/${thread_id}/runs/stream`, {
    assistant_id: "counter",
    input: { value: 1 },
    stream_mode: ["debug", "messages"],
    stream_subgraphs: true,
  });
  const events = await readEvents(stream);
  const history = await json(z.array(State), send("POST", `/threads/${thread_id}/history`, { limit: 10 }));
  const before = history.find(({ next }) => next.includes("add"));
  if (before === undefined) throw new Error("the history has no state before the step");
  return { thread_id, events, before, place: { thread_id, ...before.checkpoint } };
}

/** Continues from a checkpoint, as Studio does after it has written one. */
async function goOn(thread_id: string, checkpoint: object): Promise<unknown> {
  const stream = await send("POST", `/threads/${thread_id}/runs/stream`, {
    assistant_id: "counter",
    input: null,
    checkpoint,
    stream_mode: ["values"],
  });
  return (await readEvents(stream)).at(-1)?.data;
}

describe("Studio's page", () => {
  it("passes CORS, also for requests from the network to this machine", async () => {
    const preflight = await server.send("OPTIONS", "/assistants/search", undefined, {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,x-auth-scheme,x-api-key",
      "access-control-request-private-network": "true",
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": origin,
      "access-control-allow-headers": "content-type,x-auth-scheme,x-api-key",
      "access-control-allow-private-network": "true",
      "access-control-allow-methods": expect.stringContaining("PATCH"),
    });
  });

  it("reads the server's capabilities from its version", async () => {
    const Info = z.looseObject({ version: z.string(), context: z.string(), flags: z.record(z.string(), z.unknown()) });
    const info = await json(Info, send("GET", "/info"));
    const [major = 0, minor = 0] = info.version.split(".").map(Number);
    expect(major * 100 + minor).toBeGreaterThanOrEqual(105);
    expect(info).toMatchObject({ context: "js", flags: { assistants: true } });
  });

  it("lists the assistants and draws the graph of one", async () => {
    const query = { limit: 100, offset: 0, metadata: { created_by: "system" } };
    const assistants = await json(Assistants, send("POST", "/assistants/search", query));
    const { assistant_id: id } = assistants.find(({ graph_id }) => graph_id === "deep") ?? { assistant_id: "" };
    const path = `/assistants/${id}`;
    expect(await json(z.looseObject({}), send("GET", path))).toMatchObject({ graph_id: "deep" });
    const Graph = z.object({ nodes: z.array(z.looseObject({ id: z.string() })), edges: z.array(z.unknown()) });
    const { nodes } = await json(Graph, send("GET", `${path}/graph?xray=true`));
    expect(nodes.map(({ id: node }) => node)).toContain("outer:first");
    const schemas = await json(z.looseObject({}), send("GET", `${path}/schemas`));
    expect(schemas).toMatchObject({ graph_id: "deep", input_schema: expect.anything() });
    expect(await json(z.looseObject({}), send("GET", `${path}/subgraphs?recurse=true`))).toHaveProperty("outer");
  });

  it("follows a run step by step, and reads any of its checkpoints", async () => {
    const { thread_id, events, before, place } = await finishedThread();
    const kinds = events.flatMap(({ event, data }) =>
      event === "debug" ? [z.looseObject({ type: z.string() }).parse(data).type] : [],
    );
    expect(new Set(kinds)).toEqual(new Set(["checkpoint", "task", "task_result"]));
    const { checkpoint_id } = before.checkpoint;
    const byPath = await json(State, send("GET", `/threads/${thread_id}/state/${checkpoint_id}`));
    const byBody = await json(
      State,
      send("POST", `/threads/${thread_id}/state/checkpoint`, { checkpoint: place, subgraphs: true }),
    );
    expect(byPath).toMatchObject({ values: { value: 1 }, next: ["add"] });
    expect(byBody).toMatchObject({ values: { value: 1 }, next: ["add"] });
  });

  it("runs again from a checkpoint: a fork without a new state", async () => {
    const { thread_id, place } = await finishedThread();
    const fork = await json(Written, send("POST", `/threads/${thread_id}/state`, { values: null, checkpoint: place }));
    expect(fork.checkpoint.checkpoint_id).not.toBe(place.checkpoint_id);
    expect(await goOn(thread_id, fork.checkpoint)).toEqual({ value: 2 });
  });

  it("forks with a changed state", async () => {
    const { thread_id, place } = await finishedThread();
    const fork = await json(
      Written,
      send("POST", `/threads/${thread_id}/state`, { values: { value: 40 }, checkpoint: place, as_node: "__start__" }),
    );
    expect(await goOn(thread_id, fork.checkpoint)).toEqual({ value: 41 });
    const states = await json(z.array(State), send("POST", `/threads/${thread_id}/history`, { limit: 50 }));
    expect(states.some(({ values }) => values["value"] === 2)).toBe(true);
  });
});
