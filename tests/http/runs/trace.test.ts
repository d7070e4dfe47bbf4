import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { Span } from "@millrace/engine/runs/trace/span";
import { readEvents } from "@millrace/testing/read-events";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const Trace = z.object({
  run_id: z.string(),
  status: z.string(),
  seq: z.number(),
  spans: z.array(Span),
  is_log_complete: z.boolean(),
  is_cut: z.boolean(),
});
type Trace = z.infer<typeof Trace>;

/** What the event protocol requests of each run. */
const whole = {
  stream_mode: ["values", "updates", "messages-tuple", "tools", "custom", "tasks"],
  stream_subgraphs: true,
  stream_resumable: true,
};

async function runOf(
  assistant_id: string,
  input: object,
  body: object = whole,
  on: TestServer = server,
): Promise<{ path: string; thread_id: string }> {
  const { thread_id } = await on.client.threads.create();
  const answer = await on.send("POST", `/threads/${thread_id}/runs/stream`, { assistant_id, input, ...body });
  await answer.text();
  return { path: `${answer.headers.get("content-location")}/trace`, thread_id };
}

async function trace(path: string, on: TestServer = server): Promise<Trace> {
  const answer = await on.send("GET", path);
  expect(answer.status).toBe(200);
  return Trace.parse(await answer.json());
}

/** The spans as a tree of names, without those of the queue. */
function treeOf({ spans }: Pick<Trace, "spans">, parent: string | null = null): unknown[] {
  return spans
    .filter((span) => span.parent === parent && span.kind !== "wait")
    .map(({ id, kind, name }) => {
      const below = treeOf({ spans }, id);
      return below.length === 0 ? `${kind} ${name}` : [`${kind} ${name}`, ...below];
    });
}

/** Each span ends after it starts, and within its parent. */
function expectOrder({ spans }: Trace): void {
  const byId = new Map(spans.map((span) => [span.id, span]));
  for (const { id, parent, start, first_token, end } of spans) {
    const times = [byId.get(parent ?? "")?.start ?? null, start, first_token, end].filter((time) => time !== null);
    expect(times.toSorted(), id).toEqual(times);
  }
}

describe("GET /threads/:thread_id/runs/:run_id/trace", () => {
  it("200: steps, nodes and tool calls of a user's own graph, with inputs and outputs", async () => {
    const { path } = await runOf("toolUser", {});
    const found = await trace(path);
    expect(treeOf(found)).toEqual([["run toolUser", ["step step 1", ["node work", "tool add", "tool fail"]]]]);
    expectOrder(found);
    const by = (name: string): Span | undefined => found.spans.find((span) => span.name === name);
    expect(by("queue")).toMatchObject({ kind: "wait", status: "success", parent: found.run_id });
    expect(by("work")).toMatchObject({ status: "success", source: "log", payloads: { input: true, output: true } });
    expect(by("fail")).toMatchObject({ status: "error", error: { message: "no luck" }, tool_call_id: "call-2" });
    const payload = async (span: Span | undefined, side: string, headers = {}): Promise<[number, string]> => {
      const answer = await server.send(
        "GET",
        `${path}/${encodeURIComponent(span?.id ?? "")}/${side}`,
        undefined,
        headers,
      );
      return [answer.status, await answer.text()];
    };
    expect(await payload(by("add"), "input")).toEqual([200, JSON.stringify('{"left":1,"right":2}')]);
    expect((await payload(by("add"), "output"))[1]).toContain('"content":"3"');
    expect((await payload(by("fail"), "output"))[1]).toContain("no luck");
    expect(await payload(by("work"), "output")).toEqual([200, "{}"]);
    expect(await payload(found.spans[0], "input")).toEqual([200, "{}"]);
    // A part, the end, and a span that does not exist.
    expect(await payload(by("add"), "input", { range: "bytes=1-4" })).toEqual([206, String.raw`{\"l`]);
    expect(await payload(by("add"), "input", { range: "bytes=-3" })).toEqual([206, String.raw`2}"`]);
    expect((await payload(by("add"), "input", { range: "bytes=999-" }))[0]).toBe(416);
    expect((await payload(by("queue"), "input"))[0]).toBe(404);
    expect((await payload(undefined, "input"))[0]).toBe(404);
  });

  it("200: subgraphs below the node that calls them, at any depth, up to a depth, or below one span", async () => {
    const { path } = await runOf("deep", { value: 1 });
    const found = await trace(path);
    const nodes = found.spans.filter(({ kind }) => kind === "node");
    expect(nodes.map(({ name }) => name)).toEqual(expect.arrayContaining(["first", "second", "third"]));
    expect(nodes.some(({ namespace }) => namespace.length === 2)).toBe(true);
    expectOrder(found);
    const top = await trace(`${path}?depth=2`);
    expect(top.spans.filter(({ kind }) => kind === "node").every(({ namespace }) => namespace.length === 0)).toBe(true);
    const [outer] = top.spans.filter(({ kind }) => kind === "node");
    const below = await trace(`${path}?parent=${encodeURIComponent(outer?.id ?? "")}`);
    expect(below.spans.length).toBeGreaterThan(2);
    expect(below.spans.some(({ id }) => id === outer?.id)).toBe(false);
  });

  it("200: a model call of a user's own graph with its first token, and the joined reply", async () => {
    const { path } = await runOf("speller", { messages: [{ role: "user", content: "go" }] });
    const found = await trace(path);
    const [model] = found.spans.filter(({ kind }) => kind === "model");
    expect(model).toMatchObject({ node: "spell", status: "success", first_token: expect.any(String), source: "log" });
    expectOrder(found);
    const answer = await server.send("GET", `${path}/${model?.id}/output`);
    expect(await answer.json()).toMatchObject({ content: "begin" });
  });

  it("200: pages of any size have the same spans as one page", async () => {
    const { path } = await runOf("deep", { value: 1 });
    const all = await trace(path);
    const pages: Span[] = [];
    for (let cursor: string | null = "0"; cursor !== null;) {
      const answer: Response = await server.send("GET", `${path}?limit=2&cursor=${cursor}`);
      const { spans } = Trace.parse(await answer.json());
      expect(spans.length).toBeLessThanOrEqual(2);
      pages.push(...spans);
      cursor = answer.headers.get("x-pagination-next");
    }
    expect(pages).toEqual(all.spans);
    expect((await trace(`${path}?since=${all.seq}`)).spans.map(({ kind }) => kind)).toEqual(["run", "wait"]);
  });

  it("200: of a run without an event log, from its states and its error", async () => {
    const { thread_id } = await server.client.threads.create();
    await server.client.runs.wait(thread_id, "nested", { input: { messages: [] } });
    const [run] = await server.client.runs.list(thread_id);
    const found = await trace(`/threads/${thread_id}/runs/${run?.run_id}/trace`);
    expect(treeOf(found)).toEqual([["run nested", ["step step 1", "node inside"]]]);
    expect(found.spans[2]).toMatchObject({
      source: "checkpoint",
      checkpoint_id: expect.any(String),
      status: "success",
    });
    expectOrder(found);
    const failed = await runOf("failing", {});
    const { spans, status } = await trace(failed.path);
    expect(status).toBe("error");
    expect(spans[0]).toMatchObject({ kind: "run", status: "error", error: { message: expect.any(String) } });
    expect(spans.filter(({ kind }) => kind !== "run" && kind !== "wait").map((span) => span.status)).toEqual([
      "error",
      "error",
    ]);
  });

  it("200: of an active run, its spans so far, and then the changes, to its end", async () => {
    const gate = crypto.randomUUID();
    const { thread_id } = await server.client.threads.create();
    const { run_id } = z
      .object({ run_id: z.string() })
      .parse(
        await (
          await server.send("POST", `/threads/${thread_id}/runs`, { assistant_id: "gated", input: { gate }, ...whole })
        ).json(),
      );
    const path = `/threads/${thread_id}/runs/${run_id}/trace`;
    await expect.poll(async () => (await trace(path)).spans.at(-1)?.name).toBe("wait");
    const working = await trace(path);
    expect(working.spans.map(({ status, end }) => [status, end])).toEqual([
      ["running", null],
      ["success", expect.any(String)],
      ["running", null],
      ["running", null],
    ]);
    const live = await server.send("GET", path, undefined, { accept: "text/event-stream" });
    expect(live.headers.get("content-type")).toBe("text/event-stream");
    openGate(gate);
    const streamed = (await readEvents(live))
      .filter(({ event }) => event === "span")
      .map(({ data }) => Span.parse(data));
    const last = new Map(streamed.map((span) => [span.id, span]));
    const over = await trace(path);
    expect(over.spans.map((span) => last.get(span.id))).toEqual(over.spans);
    expect(over.spans.every(({ status, end }) => status === "success" && end !== null)).toBe(true);
    // A reader that reconnects with the last id receives only newer changes, and the end of the run.
    const again = await server.send("GET", path, undefined, {
      accept: "text/event-stream",
      "last-event-id": String(over.seq),
    });
    expect((await readEvents(again)).map(({ data }) => Span.parse(data).kind)).toEqual(["run", "wait"]);
  });

  it("200: of a stopped run shows the stop, also after a restart of the server", async () => {
    const own = await startTestServer();
    const { thread_id } = await own.client.threads.create();
    const { run_id } = await own.client.runs.create(thread_id, "gated", {
      input: { gate: crypto.randomUUID() },
      streamMode: ["tasks", "updates"],
      streamResumable: true,
    });
    const path = `/threads/${thread_id}/runs/${run_id}/trace`;
    await expect.poll(async () => (await trace(path, own)).spans.at(-1)?.name).toBe("wait");
    await own.client.runs.cancel(thread_id, run_id, true);
    const before = await trace(path, own);
    expect(before.spans.map(({ kind, status }) => `${kind} ${status}`)).toEqual([
      "run interrupted",
      "wait success",
      "step interrupted",
      "node interrupted",
    ]);
    const [run, , ...open] = before.spans;
    expect(open.map(({ end }) => end)).toEqual([run?.end, run?.end]);
    await own.close();
    const restarted = await own.restart();
    expect(await trace(path, restarted)).toEqual(before);
    await restarted.remove();
  });

  it("400 and 404: an invalid limit or cursor, a run of another thread, an unknown side", async () => {
    const { path, thread_id } = await runOf("counter", { value: 1 });
    for (const wrong of ["limit=0", "limit=1001", "cursor=x", "since=-2", "depth=x"]) {
      expect((await server.send("GET", `${path}?${wrong}`)).status, wrong).toBe(400);
    }
    const other = await server.client.threads.create();
    expect((await server.send("GET", path.replace(thread_id, other.thread_id))).status).toBe(404);
    expect((await server.send("GET", path.replace(/runs\/[^/]+/u, `runs/${crypto.randomUUID()}`))).status).toBe(404);
    expect((await server.send("GET", `${path}/x/middle`)).status).toBe(404);
    expect(
      (await server.send("GET", path, undefined, { accept: "text/event-stream", "last-event-id": "x" })).status,
    ).toBe(400);
  });
});

describe("the trace of an agent's run", () => {
  let agents: TestServer;
  let model: ModelServer;
  /** The times of the model calls. */
  let asked: string[] = [];
  beforeAll(async () => {
    model = await startModelServer({
      handler: async ({ messages }) => {
        asked.push(new Date().toISOString());
        return messages.some(({ role }) => role === "tool")
          ? { text: "All done here.", usage: { input: 20, output: 7, cached: 3 } }
          : {
              toolCalls: [
                { name: "list_files", arguments: { path: "." } },
                { name: "read_file", arguments: { path: "none.txt" } },
                { name: "read_mind", arguments: {} },
              ],
              usage: { input: 10, output: 5 },
            };
      },
    });
    agents = await startTestServer({
      graphs: join(projectFolder, "langgraph.json"),
      model: "openai:scripted",
      openai: { apiKey: "test-key", baseUrl: model.url },
    });
  });
  afterAll(async () => {
    await agents.remove();
    await model.close();
  });
  const input = { messages: [{ role: "user", content: "List the files" }] };
  const context = { mode: "free_work" };

  it("has each model call with tokens below its node, and each tool call with its state, over a restart", async () => {
    const { path } = await runOf("agent", input, { ...whole, context }, agents);
    const found = await trace(path, agents);
    expectOrder(found);
    const models = found.spans.filter(({ kind }) => kind === "model");
    expect(models).toMatchObject([
      { node: "call_model", model: "openai:scripted", usage: { input_tokens: 10, output_tokens: 5, cached_tokens: 0 } },
      { node: "call_model", model: "openai:scripted", usage: { input_tokens: 20, output_tokens: 7, cached_tokens: 3 } },
    ]);
    for (const { first_token, parent } of models) {
      expect(first_token).not.toBeNull();
      expect(found.spans.find(({ id }) => id === parent)).toMatchObject({ kind: "node", name: "call_model" });
    }
    const tools = found.spans.filter(({ kind }) => kind === "tool");
    expect(tools.map(({ name, status, node }) => `${name} ${status} ${node}`)).toEqual([
      "list_files success call_tool",
      "read_file error call_tool",
      "read_mind error call_tool",
    ]);
    expect(new Set(tools.map(({ parent }) => parent)).size).toBe(3);
    expect(found.spans[0]).toMatchObject({ usage: { input_tokens: 30, output_tokens: 12, cached_tokens: 3 } });
    await agents.close();
    agents = await agents.restart();
    expect(await trace(path, agents)).toEqual(found);
  });

  it("is built from the states, the ledger and the messages if the event log has nothing", async () => {
    asked = [];
    const { thread_id } = await agents.client.threads.create();
    await agents.client.runs.wait(thread_id, "agent", { input, context });
    const [run] = await agents.client.runs.list(thread_id);
    const found = await trace(`/threads/${thread_id}/runs/${run?.run_id}/trace`, agents);
    expectOrder(found);
    // The wait for a model is within its call.
    const models = found.spans.filter(({ kind }) => kind === "model");
    expect(models).toHaveLength(2);
    for (const [index, { start, end }] of models.entries()) {
      const times = [start ?? "no start", asked[index] ?? "not asked", end ?? "no end"];
      expect(times.toSorted((one, other) => (one < other ? -1 : 1))).toEqual(times);
    }
    expect(found.spans.map(({ kind, name, source }) => `${kind} ${name} ${source}`)).toEqual(
      expect.arrayContaining(["node free_work checkpoint", "tool list_files ledger", "model openai:scripted state"]),
    );
    expect(found.spans[0]).toMatchObject({ usage: { input_tokens: 30, output_tokens: 12, cached_tokens: 3 } });
    const { values } = await agents.client.threads.getState<{ messages: { tool_calls?: { id: string }[] }[] }>(
      thread_id,
    );
    const ids = values.messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
    const tools = found.spans.filter(({ kind }) => kind === "tool");
    expect(new Set(tools.map(({ tool_call_id }) => tool_call_id))).toEqual(new Set(ids));
    expect(
      tools.map(({ name, status, source, error }) => `${name} ${status} ${source} ${error?.error}`).toSorted(),
    ).toEqual([
      "list_files success ledger undefined",
      "read_file error ledger not_found",
      "read_mind error state tool_not_found",
    ]);
    const tool = found.spans.find(({ name }) => name === "list_files");
    expect(found.spans.find(({ id }) => id === tool?.parent)).toMatchObject({ name: "free_work" });
    const output = await agents.send(
      "GET",
      `/threads/${thread_id}/runs/${run?.run_id}/trace/${encodeURIComponent(tool?.id ?? "")}/output`,
    );
    expect(await output.text()).toContain("workspace is empty");
  });

  it("is streamed as it is read, whatever the log contains, each part below its parent", async () => {
    for (const stream_mode of [["values"], ["tasks"], ["tasks", "messages-tuple"], whole.stream_mode]) {
      const { path } = await runOf("agent", input, { stream_mode, stream_resumable: true, context }, agents);
      const read = await trace(path, agents);
      expectOrder(read);
      const stream = await agents.send("GET", path, undefined, { accept: "text/event-stream" });
      const spans = (await readEvents(stream))
        .filter(({ event }) => event === "span")
        .map(({ data }) => Span.parse(data));
      const last = new Map(spans.map((span) => [span.id, span]));
      expect(read.spans.map(({ id }) => last.get(id))).toEqual(read.spans);
      const [, second] = read.spans.filter(({ kind }) => kind === "model");
      const calls = read.spans.filter(({ kind, end }) => kind === "tool" && (second?.start ?? "") < (end ?? ""));
      expect(second?.source === "log" ? calls : [], stream_mode.join(", ")).toEqual([]);
      const parents = read.spans
        .filter(({ kind }) => kind === "tool" || kind === "model")
        .map(({ kind, parent }) => `${kind} < ${read.spans.find(({ id }) => id === parent)?.name}`);
      expect(parents.toSorted(), stream_mode.join(", ")).toEqual([
        "model < free_work",
        "model < free_work",
        "tool < free_work",
        "tool < free_work",
        "tool < free_work",
      ]);
    }
  });
});
