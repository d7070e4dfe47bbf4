import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { Run } from "@millrace/engine/storage/records";
import { openTelemetry } from "@millrace/engine/telemetry/open-telemetry";
import { readTraceparent } from "@millrace/engine/telemetry/traceparent";
import { type Collector, type Span, startCollector } from "../support/processes/collector.ts";
import { recordLog } from "../support/processes/record-log.ts";
import { type SessionFixture, startSessions } from "../support/session-fixture.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const canary = "private words of the user";

let collector: Collector;
let sessions: SessionFixture | undefined;
let server: TestServer | undefined;
afterEach(async () => {
  await sessions?.close();
  await server?.remove();
  await collector.close();
  sessions = undefined;
  server = undefined;
});

function settings(url: string, others: Record<string, string> = {}) {
  return loadConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...others }).telemetry;
}

/** The spans below one, by their names, each with those below it. */
interface Tree {
  [name: string]: Tree;
}
function treeOf(spans: Span[], parent: string | undefined): Tree {
  const below = spans.filter(({ parentSpanId }) => (parentSpanId || undefined) === parent);
  return Object.fromEntries(below.map(({ name, spanId }) => [name, treeOf(spans, spanId)]));
}

const counterRun = { assistant_id: "counter", input: { count: 1 } };

describe("traces", () => {
  it("describe one run with two tools: the run, its nodes, the model calls and the tool calls, and no words", async () => {
    collector = await startCollector();
    sessions = await startSessions({ telemetry: settings(collector.url) });
    const { thread_id } = await sessions.server.client.threads.create();
    sessions.model.push(
      {
        toolCalls: [
          { name: "list_files", id: "call_list", arguments: { path: "." } },
          { name: "read_file", id: "call_read", arguments: { path: `${canary}.md` } },
        ],
        usage: { input: 1000, output: 100 },
      },
      { text: `Nothing is there, ${canary}.` },
    );
    const input = { messages: [{ role: "user", content: `What is there? ${canary}` }] };
    const run = await sessions.server.client.runs.create(thread_id, "agent", { input, context: { mode: "free_work" } });
    await sessions.server.client.runs.join(thread_id, run.run_id);
    await sessions.server.close();

    const { spans } = collector;
    const tree = treeOf(spans, undefined);
    expect(Object.keys(tree)).toEqual(["invoke_agent agent"]);
    const work = tree["invoke_agent agent"]?.["node free_work"];
    expect(work?.["node call_model"]).toMatchObject({ "chat scripted": {} });
    expect(spans.filter(({ name }) => name === "chat scripted")).toHaveLength(2);
    const tools = spans.filter(({ name }) => name.startsWith("execute_tool "));
    expect(tools.map(({ name }) => name).toSorted()).toEqual(["execute_tool list_files", "execute_tool read_file"]);
    const nodes = spans.filter(({ name }) => name === "node call_tool").map(({ spanId }) => spanId);
    expect(nodes).toHaveLength(2);
    expect(tools.map(({ parentSpanId }) => parentSpanId ?? "").toSorted()).toEqual(nodes.toSorted());

    const [root] = spans.filter(({ parentSpanId }) => !parentSpanId);
    expect(root?.traceId).toBe(run.run_id.replaceAll("-", ""));
    expect(root?.attributes).toMatchObject({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "agent",
      "gen_ai.conversation.id": thread_id,
      "millrace.run.id": run.run_id,
      "millrace.run.status": "success",
    });
    const model = spans.find(({ attributes }) => attributes["gen_ai.usage.input_tokens"] === "1000");
    expect(model).toMatchObject({ name: "chat scripted", kind: 3 });
    expect(model?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "scripted",
      "gen_ai.usage.output_tokens": "100",
    });
    const [listed, missed] = ["list_files", "read_file"].map((tool) =>
      tools.find(({ attributes }) => attributes["gen_ai.tool.name"] === tool),
    );
    const callIds = [listed, missed].map((call) => call?.attributes["gen_ai.tool.call.id"]);
    expect(callIds).toEqual(["call_list", "call_read"]);
    expect(listed?.status?.code ?? 0).toBe(0);
    expect(missed?.status?.code).toBe(2);
    expect(missed?.attributes["error.type"]).toBe("not_found");
    for (const { startTimeUnixNano: start, endTimeUnixNano: end } of spans) expect(start <= end).toBe(true);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(
      JSON.stringify(spans, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
    ).not.toContain(canary);
  });

  it("go on from the traceparent of a request; every log line of its run has the ids", async () => {
    collector = await startCollector();
    process.env["OTEL_SERVICE_NAME"] = "crm";
    process.env["OTEL_RESOURCE_ATTRIBUTES"] = "deployment.environment.name=staging";
    process.env["OTEL_EXPORTER_OTLP_HEADERS"] = "x-tenant=seven";
    const { logger, lines } = recordLog();
    server = await startTestServer({ telemetry: settings(collector.url) }, logger);
    const headers = { traceparent, "x-request-id": "request-7" };
    const answer = await server.send("POST", "/runs/wait", counterRun, headers);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-request-id")).toBe("request-7");
    await (await server.send("POST", "/runs/wait", { assistant_id: "failing", input: {} })).text();
    await server.close();

    const [run] = collector.spans.filter(({ name }) => name === "invoke_agent counter");
    expect(run).toMatchObject({ traceId: "0af7651916cd43dd8448eb211c80319c", parentSpanId: "b7ad6b7169203331" });
    const ids = { trace_id: run?.traceId, request_id: "request-7" };
    const ofRun = lines.filter(({ graph_id }) => graph_id === "counter");
    expect(ofRun).toMatchObject([
      { msg: "run_started", ...ids },
      { msg: "run_ended", ...ids },
    ]);
    const [failed] = collector.spans.filter(({ name }) => name === "invoke_agent failing");
    expect(failed?.status?.code).toBe(2);
    expect(failed?.attributes["millrace.run.status"]).toBe("error");
    const [line] = lines.filter(({ msg }) => msg === "run_failed");
    expect(line?.["trace_id"]).toBe(failed?.traceId);
    expect(line?.["request_id"]).toMatch(/^[0-9a-f-]{36}$/u);
    expect(collector.resource).toMatchObject({ "service.name": "crm", "deployment.environment.name": "staging" });
    expect(collector.requests[0]).toMatchObject({ "x-tenant": "seven", "content-type": "application/x-protobuf" });
  });

  it("are not recorded below a client that does not record, nor where the sampler says so", async () => {
    collector = await startCollector();
    const { logger, lines } = recordLog();
    server = await startTestServer({ telemetry: settings(collector.url, { OTEL_METRICS_EXPORTER: "none" }) }, logger);
    const unrecorded = traceparent.replace(/01$/u, "00");
    await (await server.send("POST", "/runs/wait", counterRun, { traceparent: unrecorded })).text();
    await server.close();
    server = await server.restart({
      telemetry: settings(collector.url, { OTEL_TRACES_SAMPLER: "always_off", OTEL_METRICS_EXPORTER: "none" }),
    });
    await (await server.send("POST", "/runs/wait", counterRun, { traceparent })).text();
    await server.close();
    expect(collector.requests).toEqual([]);
    expect(lines.find(({ msg }) => msg === "run_ended")?.["trace_id"]).toBe("0af7651916cd43dd8448eb211c80319c");
  });
});

describe("a server that exports nothing", () => {
  it("still has the ids of its clients in its log lines, and keeps them out of the API", async () => {
    collector = await startCollector();
    const { logger, lines } = recordLog();
    server = await startTestServer({}, logger);
    const { thread_id } = await server.client.threads.create();
    const started = await server.send("POST", `/threads/${thread_id}/runs`, counterRun, { traceparent });
    const run = z.object({ run_id: z.string(), kwargs: z.record(z.string(), z.unknown()) }).parse(await started.json());
    expect(run.kwargs).not.toHaveProperty("request");
    await server.client.runs.join(thread_id, run.run_id);
    await (await server.send("POST", "/runs/wait", counterRun, { traceparent: "of another form" })).text();
    await server.close();
    const ended = lines.filter(({ msg }) => msg === "run_ended");
    expect(ended[0]).toMatchObject({
      trace_id: "0af7651916cd43dd8448eb211c80319c",
      request_id: started.headers.get("x-request-id"),
    });
    expect(ended[1]).not.toHaveProperty("trace_id");
  });
});

describe("metrics", () => {
  it("are those of /metrics, by the same names and labels", async () => {
    collector = await startCollector();
    server = await startTestServer({ telemetry: settings(collector.url) });
    await (await server.send("POST", "/runs/wait", counterRun)).text();
    const text = await (await server.send("GET", "/metrics")).text();
    await server.close();
    const exported = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gmu)].map(([, name, type]) => `${name} ${type}`);
    const kinds = collector.metrics
      // Without any value Prometheus' text form does not name them.
      .filter(({ gauge, sum, histogram }) => (gauge ?? sum ?? histogram)?.dataPoints.length !== 0)
      .map(({ name, sum, histogram }) => `${name} ${histogram ? "histogram" : sum ? "counter" : "gauge"}`);
    expect(kinds.toSorted()).toEqual(exported.toSorted());
    const of = (wanted: string) => collector.metrics.find(({ name }) => name === wanted);
    expect(of("millrace_runs_ended_total")?.sum).toMatchObject({ isMonotonic: true, aggregationTemporality: 2 });
    expect(of("millrace_runs_ended_total")?.sum?.dataPoints).toContainEqual({
      attributes: { status: "success" },
      asDouble: 1,
    });
    expect(of("millrace_database_commit_seconds")?.histogram?.dataPoints[0]?.bucketCounts.length).toBeGreaterThan(3);
  });
});

describe("a collector", () => {
  it("that refuses everything costs one log line, however often it does, and no run", async () => {
    collector = await startCollector({ status: 400 });
    const { logger, lines } = recordLog();
    server = await startTestServer(
      { telemetry: settings(collector.url, { OTEL_METRIC_EXPORT_INTERVAL: "5" }) },
      logger,
    );
    expect((await server.send("POST", "/runs/wait", counterRun)).status).toBe(200);
    await expect.poll(() => collector.requests.length).toBeGreaterThan(5);
    await server.close();
    const complaints = lines.filter(({ msg }) => msg === "telemetry_not_exported");
    expect(complaints).toMatchObject([{ level: 40, status: 400, reason: expect.any(String) }]);
  });

  it("that is away, or does not answer, holds up neither a run nor a stop", async () => {
    collector = await startCollector({ holds: true });
    for (const url of [collector.url, "http://127.0.0.1:2"]) {
      server = await startTestServer({ telemetry: settings(url) });
      expect((await server.send("POST", "/runs/wait", counterRun)).status).toBe(200);
      await server.remove();
    }
    expect(collector.requests.length).toBeGreaterThan(0);
  });

  it("that does not answer is sent no more than was kept for it", async () => {
    collector = await startCollector({ holds: true });
    const { logger } = recordLog();
    const telemetry = await openTelemetry(settings(collector.url), "1.0.0", logger);
    const kwargs = { config: {}, context: {}, stream_mode: [], stream_subgraphs: false, stream_resumable: false };
    const run = Run.parse({
      run_id: crypto.randomUUID(),
      session_id: crypto.randomUUID(),
      assistant_id: crypto.randomUUID(),
      graph_id: "counter",
      status: "running",
      kwargs: { ...kwargs, temporary: false, durability: "sync" },
      metadata: {},
      multitask_strategy: "reject",
      attempt: 1,
      crashes: 0,
      event_mark: 0,
      expired_events: -1,
      stop_requested: null,
      error: null,
      created_at: "",
      updated_at: "",
    });
    for (let count = 0; count < 4_000; count += 1) {
      telemetry?.traceRun?.(run).end({ status: "success" });
    }
    await expect.poll(() => collector.requests.length).toBe(1);
    collector.release();
    await telemetry?.close(20_000);
    expect(collector.spans.length).toBeGreaterThan(1_000);
    expect(collector.spans.length).toBeLessThan(2_600);
  });
});

describe("what the environment says", () => {
  it("is nothing without an address, or where it is switched off", () => {
    expect(loadConfig({}).telemetry).toBeUndefined();
    expect(settings("http://127.0.0.1:4318", { OTEL_SDK_DISABLED: "true" })).toBeUndefined();
    const none = { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" };
    expect(settings("http://127.0.0.1:4318", none)).toBeUndefined();
  });

  it("gives each signal its address", () => {
    const metrics = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://metrics.example/take" };
    expect(settings("http://collector.example:4318/otlp/", metrics)).toMatchObject({
      traces: "http://collector.example:4318/otlp/v1/traces",
      metrics: "http://metrics.example/take",
      sampler: { name: "parentbased_always_on", ratio: 1 },
    });
  });

  it("is refused where it names a protocol that is not spoken, or no address", () => {
    expect(() => settings("http://127.0.0.1:4317", { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" })).toThrow(
      "only http/protobuf is spoken here",
    );
    expect(() => settings("localhost:4318")).toThrow("OTEL_EXPORTER_OTLP_ENDPOINT");
  });

  it("is read from a traceparent of the standard's form alone", () => {
    expect(readTraceparent(traceparent)).toEqual({
      traceId: "0af7651916cd43dd8448eb211c80319c",
      spanId: "b7ad6b7169203331",
      flags: 1,
    });
    // A later version may have more.
    expect(readTraceparent(`cc${traceparent.slice(2)}-more`)?.flags).toBe(1);
    for (const wrong of [
      undefined,
      "",
      `ff${traceparent.slice(2)}`,
      traceparent.toUpperCase(),
      traceparent.replace("0af7651916cd43dd8448eb211c80319c", "0".repeat(32)),
      traceparent.replace("b7ad6b7169203331", "0".repeat(16)),
      traceparent.slice(0, -1),
    ]) {
      expect(readTraceparent(wrong)).toBeUndefined();
    }
  });
});
