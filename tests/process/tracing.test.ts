import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { Client } from "langsmith";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { createTracing, skipIdleTracing } from "@millrace/engine/tracing";
import { startWorkflow, type TestWorkflow } from "../support/workflow.ts";

const secret = "sk-test-canary-0123456789";
const webhookSecret = "what webhooks are signed with";
const plannerKey = "the key of the planner";
const searchKey = "the key of an engine that is off";
const ownKey = "the key of a provider of one's own";
let running: TestWorkflow | undefined;
let langsmith: Server | undefined;
afterEach(async () => {
  await running?.close();
  langsmith?.closeAllConnections();
  langsmith?.close();
});

/** Takes what a LangSmith client sends, whole and in the order it came. */
async function startLangSmith(bodies: string[]): Promise<string> {
  langsmith = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      bodies.push((request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString("utf8"));
      response.setHeader("content-type", "application/json");
      response.end(
        request.url?.endsWith("/info") === true
          ? JSON.stringify({ batch_ingest_config: { use_multipart_endpoint: false } })
          : "{}",
      );
    });
  });
  await new Promise<void>((resolve) => langsmith?.listen(0, "127.0.0.1", resolve));
  // A server that listens on a port has an AddressInfo; a string is only for pipes.
  return `http://127.0.0.1:${(langsmith.address() as AddressInfo).port}`;
}

const Span = z.looseObject({
  id: z.string(),
  parent_run_id: z.string().nullish(),
  name: z.string(),
  inputs: z.record(z.string(), z.unknown()),
  outputs: z.record(z.string(), z.unknown()).optional(),
  error: z.string().optional(),
  extra: z.looseObject({ metadata: z.record(z.string(), z.unknown()) }),
});
const Part = z.looseObject({ id: z.string() });
const Sent = z.object({ post: z.array(Part).default([]), patch: z.array(Part).default([]) });

/** The spans, each put together from what was sent at its start and at its end, in the order of their starts. */
function spansOf(bodies: string[]): z.infer<typeof Span>[] {
  const spans = new Map<string, object>();
  for (const { post, patch } of bodies
    .filter((body) => body.startsWith("{"))
    .map((body) => Sent.parse(JSON.parse(body)))) {
    for (const part of [...post, ...patch]) spans.set(part.id, { ...spans.get(part.id), ...part });
  }
  return [...spans.values()].map((span) => Span.parse(span));
}

/** The names of the spans that a span lies in, from the inside out. */
function around(span: z.infer<typeof Span>, spans: z.infer<typeof Span>[]): string[] {
  const parent = spans.find(({ id }) => id === span.parent_run_id);
  return parent === undefined ? [] : [parent.name, ...around(parent, spans)];
}

describe("tracing", () => {
  it("is off without a key", () => {
    expect(createTracing(loadConfig({}))).toBeUndefined();
    expect(createTracing(loadConfig({ LANGSMITH_API_KEY: secret, LANGSMITH_TRACING: "false" }))).toBeUndefined();
  });

  it("sends node, loop, model and tool as spans with their names, and never a secret", async () => {
    const bodies: string[] = [];
    const endpoint = await startLangSmith(bodies);
    const tracing = createTracing(
      loadConfig({
        LANGSMITH_API_KEY: secret,
        LANGSMITH_ENDPOINT: endpoint,
        MILLRACE_WEBHOOK_SECRET: webhookSecret,
        MILLRACE_PLANNER_URL: "http://127.0.0.1:9",
        MILLRACE_PLANNER_KEY: plannerKey,
        MILLRACE_SEARCH: "off",
        BING_SEARCH_API_KEY: searchKey,
      }),
      () => [ownKey],
    );
    if (tracing === undefined) return expect.unreachable("a key turns tracing on");
    running = await startWorkflow({
      tracer: tracing.tracer,
      files: { a: `the key is ${secret}` },
      script: [{ toolCalls: [{ name: "read_file", arguments: { path: "a" } }] }, { text: "Done." }],
    });
    const others = [webhookSecret, plannerKey, searchKey, ownKey];
    // Nothing is configured with these; they are known by their form.
    const unknown = ["ghp_0123456789abcdefghij", "a1b2c3d4e5f6g7h8i9", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"];
    const [token, bearer, privateKey] = unknown;
    const pasted = `${token}, Authorization: Bearer ${bearer}, -----BEGIN PRIVATE KEY-----\n${privateKey}\n-----END PRIVATE KEY-----`;
    await running.send(`look at a, my key is ${secret}, and ${others.join(", ")}, and ${pasted}`);
    await tracing.flush(10_000);
    const sent = bodies.join("\n");
    for (const name of ["free_work", "agentic_loop", "llm_call_iter_1", "llm_call_iter_2", "tool_read_file"]) {
      expect(sent).toContain(`"name":"${name}"`);
    }
    for (const one of [secret, ...others, ...unknown]) expect(sent).not.toContain(one);
    expect(sent).toContain("[redacted]");
  });

  it("says in each span what lies around it, what went in and what came out, and of an error where it came from (TRACE-02)", async () => {
    const bodies: string[] = [];
    const endpoint = await startLangSmith(bodies);
    const tracing = createTracing(loadConfig({ LANGSMITH_API_KEY: secret, LANGSMITH_ENDPOINT: endpoint }));
    if (tracing === undefined) return expect.unreachable("a key turns tracing on");
    running = await startWorkflow({
      tracer: tracing.tracer,
      files: { a: "hello" },
      script: [
        { toolCalls: ["a", "gone"].map((path) => ({ name: "read_file", arguments: { path } })) },
        { text: "Done." },
        { fault: { kind: "status", status: 401, message: "no such key" } },
      ],
    });
    await running.send("look at a", { tools: ["read_file", "list_files"] });
    await expect(running.send("once more", { on_error: "fail", mode: "free_work" })).rejects.toThrow("refused the key");
    await tracing.flush(10_000);
    const spans = spansOf(bodies);
    const [loop] = spans.filter(({ name }) => name === "agentic_loop");
    expect(loop?.inputs).toMatchObject({ message_count: 1, tool_count: 2 });
    expect(loop?.outputs).toMatchObject({ iteration_count: 2, total_tokens_used: 59, end_reason: "answered" });
    const [asked, answered] = ["llm_call_iter_1", "llm_call_iter_2"].map((name) =>
      spans.find((span) => span.name === name),
    );
    expect(asked?.extra.metadata).toMatchObject({ ls_model_name: "scripted" });
    expect(JSON.stringify(asked?.inputs)).toContain('"content":"look at a"');
    expect(JSON.stringify(asked?.outputs)).toMatch(/"tool_calls":\[\{"name":"read_file","args":\{"path":"a"\}/u);
    expect(JSON.stringify(answered?.outputs)).toContain('"text":"Done."');
    expect(JSON.stringify(answered?.outputs)).toContain('"tool_calls":[]');
    const tools = spans.filter(({ name }) => name === "tool_read_file");
    const seen = tools.map(({ inputs, outputs }) => [inputs["path"], outputs?.["success"], outputs?.["content"]]);
    expect(seen.toSorted(([left], [right]) => String(left).localeCompare(String(right)))).toEqual([
      ["a", true, "1\thello"],
      ["gone", false, expect.stringContaining('"gone" does not exist.')],
    ]);
    for (const span of spans.filter(({ name }) => /^(?:llm_call_iter_|tool_)/u.test(name))) {
      expect(around(span, spans).filter((name) => ["agentic_loop", "free_work", "LangGraph"].includes(name))).toEqual([
        "agentic_loop",
        "free_work",
        "LangGraph",
      ]);
    }
    const failed = spans.filter(({ name, error }) => name === "llm_call_iter_1" && error !== undefined);
    expect(failed).toHaveLength(1);
    expect(failed[0]?.error).toMatch(/refused the key \(401\)[\s\S]*\n +at /u);
  });

  it("does not fail a run when the LangSmith server cannot be reached", async () => {
    const tracing = createTracing(loadConfig({ LANGSMITH_API_KEY: secret, LANGSMITH_ENDPOINT: "http://127.0.0.1:9" }));
    if (tracing === undefined) return expect.unreachable("a key turns tracing on");
    running = await startWorkflow({ tracer: tracing.tracer, script: [{ text: "Hello." }] });
    expect((await running.send("Say hello")).messages.at(-1)?.text).toBe("Hello.");
  });
});

describe("skipping idle tracing", () => {
  it("is in use with the pinned library, and steps still find their configuration", async () => {
    expect(skipIdleTracing()).toBe(true);
    running = await startWorkflow({
      files: { a: "1" },
      script: [{ toolCalls: [{ name: "read_file", arguments: { path: "a" } }] }, { text: "One." }],
    });
    const state = await running.send("Look at a");
    expect(state.messages.at(-1)?.text).toBe("One.");
    expect(running.events.some((event) => event.type === "agentic_loop.tool_result")).toBe(true);
  });

  it("leaves a run that brings its own tracer its spans", async () => {
    skipIdleTracing();
    const names: string[] = [];
    const tracer = new LangChainTracer({ client: recordingClient(names) });
    running = await startWorkflow({ tracer, script: [{ text: "Hello." }] });
    await running.send("Say hello");
    await awaitAllCallbacks();
    expect(names).toEqual(expect.arrayContaining(["free_work", "agentic_loop", "llm_call_iter_1"]));
  });
});

function recordingClient(names: string[]): Client {
  const client = new Client({ apiKey: "test", apiUrl: "http://127.0.0.1:9", autoBatchTracing: false });
  client.createRun = async (run) => void names.push(run.name);
  client.updateRun = async () => undefined;
  return client;
}
