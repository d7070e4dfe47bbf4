import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { createHistogram } from "node:perf_hooks";
import parse from "parse-prometheus-text-format";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { LabelledSums, noDurations } from "@millrace/engine/metrics/families";
import { createLoopDelay } from "@millrace/engine/metrics/loop-delay";
import { openMetrics } from "@millrace/engine/metrics/metrics";
import { countFirstToken, zeroCounts, runStats } from "@millrace/engine/runs/run-stats";
import { createAgentMetrics } from "../../../src/agent-runs/agent-metrics.ts";
import { success } from "../../../src/tools/runtime/result.ts";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";
import { startSessions } from "../../support/session-fixture.ts";

let server: TestServer | undefined;
afterEach(async () => {
  await server?.remove();
  server = undefined;
});

const Families = z.array(
  z.object({
    name: z.string(),
    help: z.string(),
    type: z.string(),
    metrics: z.array(z.record(z.string(), z.unknown())),
  }),
);

/** The answer as Prometheus parses it. */
async function scrape({ url }: TestServer, headers: Record<string, string> = {}) {
  const answer = await fetch(`${url}/metrics`, { headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/u);
  const text = await answer.text();
  const families = Families.parse(parse(text));
  const labelsOf = new Map<string, Set<string>>();
  for (const line of text.split("\n")) {
    const [, name, labels = ""] = /^([a-z]\w*)(?:\{(.*)\})? /u.exec(line) ?? [];
    if (name === undefined) continue;
    const known = labelsOf.get(name) ?? new Set<string>();
    for (const [, label = ""] of labels.matchAll(/(\w+)="/gu)) known.add(label);
    labelsOf.set(name, known);
  }
  return {
    series: text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length,
    names: families.map(({ name }) => name),
    /** The labels of each series, by name. */
    labelsOf,
    of: (name: string) => families.find((family) => family.name === name)?.metrics,
  };
}

const Dashboard = z.object({
  templating: z.object({ list: z.array(z.object({ query: z.unknown() })) }),
  annotations: z.object({ list: z.array(z.object({ expr: z.string(), titleFormat: z.string() })) }),
  panels: z.array(
    z.object({
      id: z.number(),
      title: z.string(),
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).min(1),
    }),
  ),
});

/** The queries of the dashboard, each with the title of its panel. */
function dashboardQueries(): { title: string; expr: string; legend: string }[] {
  const text = readFileSync(join(projectFolder, "docs/operate/grafana-dashboard.json"), "utf8");
  const { panels, annotations } = Dashboard.parse(JSON.parse(text));
  return [
    ...panels.flatMap(({ title, targets }) =>
      targets.map(({ expr, legendFormat: legend }) => ({ title, expr, legend })),
    ),
    ...annotations.list.map(({ expr, titleFormat: legend }) => ({ title: "annotation", expr, legend })),
  ];
}

/** Labels that Prometheus adds to each series, and the label of a histogram's buckets. */
const addedLabels = new Set(["instance", "le"]);

/** The parts of a PromQL query that are not exported; `labelsOf` has the labels of each series. */
function unknownIn({ expr, legend }: { expr: string; legend: string }, labelsOf: Map<string, Set<string>>): string[] {
  const names = [...expr.matchAll(/\b(?:millrace|process)_\w+/gu)].map(([name]) => name);
  const known = new Set(names.flatMap((name) => [...(labelsOf.get(name) ?? [])]));
  const matched = [...expr.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/gu)].map(([, label = ""]) => label);
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/gu)].flatMap(([, list = ""]) => list.split(", "));
  const legendLabels = [...legend.matchAll(/\{\{(\w+)\}\}/gu)].map(([, label = ""]) => label);
  return [
    ...(names.length === 0 ? ["no metric"] : names.filter((name) => !labelsOf.has(name))),
    ...[...matched, ...grouped, ...legendLabels].filter((label) => !known.has(label) && !addedLabels.has(label)),
    ...legendLabels.filter((label) => !grouped.includes(label)),
  ];
}

it("exports metrics of runs, models, tools, tokens, the database and the process", async () => {
  const sessions = await startSessions();
  try {
    const first = await scrape(sessions.server);
    expect(first.of("millrace_runs_ended_total")).toContainEqual({ value: "0", labels: { status: "success" } });
    const { thread_id } = await sessions.server.client.threads.create();
    sessions.model.push(
      { toolCalls: [{ name: "list_files", arguments: { path: "." } }], usage: { input: 1000, output: 100 } },
      { text: "Nothing is there.", usage: { input: 2000, output: 50 } },
    );
    const run = sessions.server.client.runs.stream(thread_id, "agent", {
      input: { messages: [{ role: "user", content: "What is there?" }] },
      context: { limits: { price: { input: 2, output: 10 } } },
      streamMode: "messages-tuple",
    });
    const events = await Array.fromAsync(run);
    expect(events.map(({ event }) => event)).toContain("messages");
    const metrics = await scrape(sessions.server);
    expect(metrics.of("millrace_runs_ended_total")).toContainEqual({ value: "1", labels: { status: "success" } });
    expect(metrics.of("millrace_runs")).toEqual([
      { value: "0", labels: { state: "running" } },
      { value: "0", labels: { state: "waiting" } },
    ]);
    expect(metrics.of("millrace_first_token_seconds")).toMatchObject([{ count: "1" }]);
    expect(Number(metrics.of("millrace_database_commit_seconds")?.[0]?.["count"])).toBeGreaterThan(0);
    expect(metrics.of("millrace_model_calls_total")).toEqual([
      { value: "2", labels: { vendor: "openai", outcome: "success" } },
    ]);
    expect(metrics.of("millrace_tokens_total")).toEqual([
      { value: "3000", labels: { vendor: "openai", kind: "input" } },
      { value: "150", labels: { vendor: "openai", kind: "output" } },
    ]);
    expect(Number(metrics.of("millrace_cost_total")?.[0]?.["value"])).toBeCloseTo((3000 * 2 + 150 * 10) / 1e6);
    expect(metrics.of("millrace_tool_calls_total")).toEqual([
      { value: "1", labels: { tool: "list_files", outcome: "success" } },
    ]);
    expect(metrics.of("millrace_breakers")).toEqual([{ value: "1", labels: { vendor: "openai", state: "closed" } }]);
    const queries = dashboardQueries();
    // Only a server on PostgreSQL has metrics of other servers.
    const known = new Map([["millrace_servers", new Set<string>()], ...metrics.labelsOf]);
    const unknown = queries.flatMap((query) =>
      unknownIn(query, known).map((name) => `${query.title}: ${name} in ${query.expr}`),
    );
    expect(unknown).toEqual([]);
    const shown = queries.map(({ expr }) => expr).join(" ");
    expect(metrics.names.filter((name) => !shown.includes(name))).toEqual([]);
    const misspelt = { expr: 'sum by (kinds) (rate(millrace_token_total{vendors="a"}[5m]))', legend: "{{kind}}" };
    expect(unknownIn(misspelt, metrics.labelsOf)).toEqual(["millrace_token_total", "vendors", "kinds", "kind", "kind"]);
    expect(metrics.names).toEqual(
      expect.arrayContaining([
        "millrace_queue_oldest_seconds",
        "millrace_readers",
        "millrace_database_bytes",
        "millrace_event_loop_delay_seconds",
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
      ]),
    );
  } finally {
    await sessions.close();
  }
});

it("has as many series after many runs in many threads as after one", async () => {
  server = await startTestServer();
  const started = server;
  const runOnce = async () => {
    const { thread_id } = await started.client.threads.create();
    await started.client.runs.wait(thread_id, "counter", { input: { count: 1 } });
  };
  await runOnce();
  const { series } = await scrape(started);
  await Promise.all(Array.from({ length: 100 }, runOnce));
  const after = await scrape(started);
  expect(after.series).toBe(series);
  expect(after.of("millrace_runs_ended_total")).toContainEqual({ value: "101", labels: { status: "success" } });
});

it("has as many series after 100,000 runs in 10,000 threads, whatever their models are called", async () => {
  const agent = createAgentMetrics();
  const counts = zeroCounts();
  const metrics = openMetrics({
    version: "1.0.0",
    runs: () => runStats([], counts),
    commits: noDurations([1]),
    databaseBytes: async () => ({ database: 1, log: 1 }),
    feedReaders: () => 0,
    servers: () => undefined,
    ofAgent: () => agent.families({ list: () => [] }),
  });
  const created_at = new Date().toISOString();
  const runOnce = (index: number): void => {
    countFirstToken({ attempt: 1, created_at }, counts);
    counts.ended[index % 2 === 0 ? "success" : "error"] += 1;
    agent.onModelCall("openai:gpt");
    const usage = { model: `openai:model-${index}`, input_tokens: 10, output_tokens: 1, cost: 0.1 };
    agent.onUsage(usage);
    const ids = { session_id: `thread-${index % 10_000}`, run_id: `run-${index}`, call_id: `call-${index}` };
    void agent.hook.after?.({ tool: "read_file", effect: "pure", ...ids }, success("read"), 1);
    // A limit of an owner stops a model call.
    counts.refused.tokens_per_day = (counts.refused.tokens_per_day ?? 0) + 1;
  };
  try {
    runOnce(0);
    const seriesOf = async (): Promise<string[]> =>
      (await metrics.text()).body
        .split("\n")
        .flatMap((line) => (/^[a-z]/u.test(line) ? [line.split(" ")[0] ?? ""] : []));
    const before = await seriesOf();
    for (let index = 0; index < 100_000; index += 1) runOnce(index);
    expect(await seriesOf()).toEqual(before);
    expect((await metrics.text()).body).toContain("millrace_first_token_seconds_count 100001");
  } finally {
    metrics.close();
  }
});

it("shows each reader the delay of the event loop, independently of other readers", () => {
  const sources: ReturnType<typeof createHistogram>[] = [];
  let now = 0;
  const delay = createLoopDelay(
    () => {
      const source = createHistogram();
      sources.push(source);
      return Object.assign(source, { enable: () => true, disable: () => true });
    },
    () => now,
  );
  const slowest = () => [delay.looked(), delay.looked(), delay.collected()].map((late) => Math.round(late["1"]));
  const block = (seconds: number) => sources.forEach((source) => source.record(seconds * 1e9));
  expect(slowest()).toEqual([0, 0, 0]);
  block(5);
  expect(slowest()).toEqual([5, 5, 5]);
  // A scrape covers the time since the last one; a page that is read again shows the same.
  expect(slowest()).toEqual([5, 5, 0]);
  now = 60_000;
  block(2);
  expect(slowest()).toEqual([5, 5, 2]);
  now = 120_000;
  expect([...slowest(), ...slowest()]).toEqual([5, 0, 0, 0, 0, 0]);
});

it("keeps the number of names of a label bounded", () => {
  const sums = new LabelledSums("tool", "outcome");
  for (let index = 0; index < 10_000; index += 1) sums.add(1, `tool ${index}`, "success");
  const values = sums.values();
  expect(values).toHaveLength(201);
  expect(values.at(-1)).toEqual({ labels: { tool: "other", outcome: "success" }, value: 9_800 });
});

/** The status of `/metrics` for a request with this `Host`, which fetch would not send. */
async function statusAs({ url }: TestServer, host: string): Promise<number | undefined> {
  const request = get(`${url}/metrics`, { headers: { host } });
  const [response] = await once(request, "response");
  response.resume();
  return response.statusCode;
}

it("needs a local request without a metrics key, and that key otherwise", async () => {
  server = await startTestServer({ apiKeys: [{ owner: "ada", key: "a-long-secret" }] });
  await scrape(server);
  const ofProxies: Record<string, string>[] = [
    { "x-forwarded-for": "203.0.113.7" },
    { "X-Forwarded-Host": "millrace.example" },
    { forwarded: "for=203.0.113.7" },
    { via: "1.1 proxy" },
    { "x-real-ip": "203.0.113.7" },
    { "cf-connecting-ip": "203.0.113.7" },
    { "true-client-ip": "203.0.113.7" },
  ];
  for (const headers of ofProxies) {
    const passedOn = await server.send("GET", "/metrics", undefined, headers);
    expect([passedOn.status, await passedOn.text()]).toEqual([403, expect.stringContaining("MILLRACE_METRICS_KEY")]);
  }
  await server.close();
  // Of a proxy without forwarding headers that keeps the requested host.
  server = await server.restart({ allowedHosts: ["millrace.example"] });
  expect(await statusAs(server, "millrace.example")).toBe(403);
  expect(await statusAs(server, new URL(server.url).host)).toBe(200);
  await server.close();
  server = await server.restart({ metricsKey: "for-prometheus" });
  await scrape(server, { authorization: "Bearer for-prometheus", "x-forwarded-for": "203.0.113.7" });
  const wrong: Record<string, string>[] = [
    {},
    { authorization: "Bearer a-long-secret" },
    { authorization: "Bearer for" },
  ];
  for (const headers of wrong) {
    expect((await server.send("GET", "/metrics", undefined, headers)).status).toBe(401);
  }
  // The key opens no other route.
  expect((await server.send("GET", "/tools", undefined, { authorization: "Bearer for-prometheus" })).status).toBe(401);
});
