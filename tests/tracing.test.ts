import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { awaitAllCallbacks } from "@langchain/core/callbacks/promises";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { Client } from "langsmith";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "../src/config.ts";
import { createTracing, skipIdleTracing } from "../src/tracing.ts";
import { startWorkflow, type TestWorkflow } from "./support/workflow.ts";

const secret = "sk-test-canary-0123456789";
const webhookSecret = "what webhooks are signed with";
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

describe("tracing", () => {
  it("is off without a key", () => {
    expect(createTracing(loadConfig({}))).toBeUndefined();
    expect(createTracing(loadConfig({ LANGSMITH_API_KEY: secret, LANGSMITH_TRACING: "false" }))).toBeUndefined();
  });

  it("sends node, loop, model and tool as spans with their names, and never a secret", async () => {
    const bodies: string[] = [];
    const endpoint = await startLangSmith(bodies);
    const tracing = createTracing(
      loadConfig({ LANGSMITH_API_KEY: secret, LANGSMITH_ENDPOINT: endpoint, MILLRACE_WEBHOOK_SECRET: webhookSecret }),
    );
    if (tracing === undefined) return expect.unreachable("a key turns tracing on");
    running = await startWorkflow({
      tracer: tracing.tracer,
      files: { a: `the key is ${secret}` },
      script: [{ toolCalls: [{ name: "read_file", arguments: { path: "a" } }] }, { text: "Done." }],
    });
    await running.send(`look at a, my key is ${secret}, and ${webhookSecret}`);
    await tracing.flush(10_000);
    const sent = bodies.join("\n");
    for (const name of ["free_work", "agentic_loop", "llm_call_iter_1", "llm_call_iter_2", "tool_read_file"]) {
      expect(sent).toContain(`"name":"${name}"`);
    }
    expect(sent).not.toContain(secret);
    expect(sent).not.toContain(webhookSecret);
    expect(sent).toContain("[redacted]");
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
