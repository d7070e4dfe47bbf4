import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let model: ModelServer;
beforeEach(async () => {
  model = await startModelServer({ script: [] });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  const graphs = join(projectFolder, "langgraph.json");
  server = await startTestServer({ graphs, openai, model: "openai:scripted" });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

const Run = z.looseObject({ run_id: z.string(), status: z.string() });
const State = z.looseObject({
  messages: z.array(z.looseObject({ content: z.string(), additional_kwargs: z.record(z.string(), z.unknown()) })),
});
/** What the state contains of the turn. */
const TurnState = z.object({
  orchestration: z.looseObject({ state: z.string() }),
  work_mode: z.string(),
});
const sentence = Array.from({ length: 20 }, (_, index) => `word${index}`).join(" ");

async function messagesOf(id: string): Promise<z.infer<typeof State>["messages"]> {
  return State.parse((await server.client.threads.getState(id)).values).messages;
}

/** A thread whose last reply was stopped when the reader had received `sentence`. */
async function stoppedThread(): Promise<string> {
  model.push({ text: `${sentence} and more`, hold: { after: 20, until: new Promise(() => undefined) } });
  const { thread_id: id } = await server.client.threads.create();
  const stream = server.client.runs.stream(id, "agent", {
    input: { messages: [{ role: "user", content: "tell me something, my friend" }] },
    streamMode: ["messages-tuple"],
    context: { temperature: 0.25 },
  });
  for await (const { event, data } of stream) {
    if (event !== "messages" || !JSON.stringify(data).includes("word19")) continue;
    const [run] = await server.client.runs.list(id);
    await server.client.runs.cancel(id, run?.run_id ?? "");
  }
  return id;
}

const takeUp = (id: string, kind: string, body?: object) => server.send("POST", `/threads/${id}/partial/${kind}`, body);

describe("a reply that a stop cut off", () => {
  it("is marked on the wire as partial, with the reason", async () => {
    const id = await stoppedThread();
    const messages = await messagesOf(id);
    expect(messages.at(-1)).toMatchObject({
      content: sentence,
      additional_kwargs: { is_partial: true, stop_reason: "user_requested" },
    });
    const info = await server.send("GET", `/threads/${id}/info`);
    expect(await info.json()).toMatchObject({ has_partial_response: true });
    const history = await server.send("GET", `/threads/${id}/history?limit=1`);
    expect(await history.text()).toContain('"stop_reason":"user_requested"');
  });

  it("is continued in place by a run with the last run's context", async () => {
    const id = await stoppedThread();
    model.push({ text: " and the end." });
    const response = await takeUp(id, "continue");
    const run = Run.parse(await response.json());
    expect(response.headers.get("content-location")).toBe(`/threads/${id}/runs/${run.run_id}`);
    await server.client.runs.join(id, run.run_id);
    expect((await messagesOf(id)).map(({ content }) => content)).toEqual([
      "tell me something, my friend",
      `${sentence} and the end.`,
    ]);
    expect((await messagesOf(id)).at(-1)?.additional_kwargs["is_partial"]).toBe(false);
    const { kwargs } = z.looseObject({ kwargs: z.looseObject({}) }).parse(await server.client.runs.get(id, run.run_id));
    expect(kwargs["context"]).toEqual({ temperature: 0.25, partial: "continue" });
    expect((await takeUp(id, "continue")).status).toBe(409);
  });

  it("is regenerated, and the caller's context overrides that of the last run", async () => {
    const id = await stoppedThread();
    model.push({ text: "Something else." });
    const run = Run.parse(await (await takeUp(id, "regenerate", { context: { temperature: 1 } })).json());
    await server.client.runs.join(id, run.run_id);
    expect((await messagesOf(id)).map(({ content }) => content)).toEqual([
      "tell me something, my friend",
      "Something else.",
    ]);
    const { kwargs } = z.looseObject({ kwargs: z.looseObject({}) }).parse(await server.client.runs.get(id, run.run_id));
    expect(kwargs["context"]).toEqual({ temperature: 1, partial: "regenerate" });
  });

  it.each(["continue", "regenerate"])("is 409 for %s if there is none, and no run is started", async (kind) => {
    const { thread_id: id } = await server.client.threads.create();
    const response = await takeUp(id, kind);
    expect([response.status, await response.text()]).toEqual([409, expect.stringContaining("partial reply")]);
    expect(await server.client.runs.list(id)).toEqual([]);
    const missing = crypto.randomUUID();
    const unknown = await takeUp(missing, kind);
    expect([unknown.status, await unknown.text()]).toEqual([404, `Thread with ID ${missing} not found`]);
  });
});

describe("GET /threads/:id/status", () => {
  const statusOf = async (id: string, of = server): Promise<unknown> =>
    (await of.send("GET", `/threads/${id}/status`)).json();
  const idle = {
    stop_state: "idle",
    is_loading: false,
    is_generating: false,
    is_stop_loading: false,
    can_send: true,
    can_stop: false,
    queue_length: 0,
    error: null,
    workflow_locked: false,
  };

  it("of a thread of the workflow shows the state of the turn", async () => {
    const id = await stoppedThread();
    const { values } = await server.client.threads.getState(id);
    const { orchestration, work_mode } = TurnState.parse(values);
    expect(await statusOf(id)).toMatchObject({ ...idle, orchestration, work_mode });
  });

  it("follows a run from its start over its stop to the end, with the run queued behind it", async () => {
    const other = await startTestServer();
    const { thread_id: id } = await other.client.threads.create();
    const nothingSaid = { orchestration: null, work_mode: null };
    expect(await statusOf(id, other)).toMatchObject({ ...idle, ...nothingSaid });
    const gate = crypto.randomUUID();
    const first = await other.client.runs.create(id, "gated", { input: { gate } });
    await expect.poll(() => statusOf(id, other)).toMatchObject({ stop_state: "running" });
    await other.client.runs.create(id, "failing", { input: {}, multitaskStrategy: "enqueue" });
    const busy = { is_loading: true, can_send: false };
    expect(await statusOf(id, other)).toMatchObject({ ...busy, is_generating: true, can_stop: true, queue_length: 1 });
    await other.client.runs.cancel(id, first.run_id, true);
    openGate(gate);
    await expect
      .poll(() => statusOf(id, other))
      .toMatchObject({ ...idle, ...nothingSaid, error: { error: "RangeError", message: "out of luck" } });
    await other.remove();
  });
});
