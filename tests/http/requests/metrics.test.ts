import parse from "parse-prometheus-text-format";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { LabelledSums } from "@millrace/engine/metrics/families";
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

/** What Prometheus would make of the answer. */
async function scrape({ url }: TestServer, headers: Record<string, string> = {}) {
  const answer = await fetch(`${url}/metrics`, { headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/u);
  const text = await answer.text();
  const families = Families.parse(parse(text));
  return {
    series: text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length,
    names: families.map(({ name }) => name),
    of: (name: string) => families.find((family) => family.name === name)?.metrics,
  };
}

it("tells of runs, models, tools, tokens, the database and the process", async () => {
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
    const told = await scrape(sessions.server);
    expect(told.of("millrace_runs_ended_total")).toContainEqual({ value: "1", labels: { status: "success" } });
    expect(told.of("millrace_runs")).toEqual([
      { value: "0", labels: { state: "running" } },
      { value: "0", labels: { state: "waiting" } },
    ]);
    expect(told.of("millrace_first_token_seconds")).toMatchObject([{ count: "1" }]);
    expect(Number(told.of("millrace_database_commit_seconds")?.[0]?.["count"])).toBeGreaterThan(0);
    expect(told.of("millrace_model_calls_total")).toEqual([
      { value: "2", labels: { vendor: "openai", outcome: "success" } },
    ]);
    expect(told.of("millrace_tokens_total")).toEqual([
      { value: "3000", labels: { vendor: "openai", kind: "input" } },
      { value: "150", labels: { vendor: "openai", kind: "output" } },
    ]);
    expect(Number(told.of("millrace_cost_total")?.[0]?.["value"])).toBeCloseTo((3000 * 2 + 150 * 10) / 1e6);
    expect(told.of("millrace_tool_calls_total")).toEqual([
      { value: "1", labels: { tool: "list_files", outcome: "success" } },
    ]);
    expect(told.of("millrace_breakers")).toEqual([{ value: "1", labels: { vendor: "openai", state: "closed" } }]);
    expect(told.names).toEqual(
      expect.arrayContaining([
        "millrace_queue_oldest_seconds",
        "millrace_readers",
        "millrace_database_bytes",
        "millrace_event_loop_delay_seconds",
        "process_resident_memory_bytes",
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

it("keeps the number of names of a label bounded", () => {
  const sums = new LabelledSums("tool", "outcome");
  for (let index = 0; index < 10_000; index += 1) sums.add(1, `tool ${index}`, "success");
  const values = sums.values();
  expect(values).toHaveLength(201);
  expect(values.at(-1)).toEqual({ labels: { tool: "other", outcome: "success" }, value: 9_800 });
});

it("answers this machine alone where it has no key, and else who has that key", async () => {
  server = await startTestServer({ apiKeys: [{ owner: "ada", key: "a-long-secret" }] });
  await scrape(server);
  const passedOn = await server.send("GET", "/metrics", undefined, { "x-forwarded-for": "203.0.113.7" });
  expect([passedOn.status, await passedOn.text()]).toEqual([403, expect.stringContaining("MILLRACE_METRICS_KEY")]);
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
  // It opens nothing else.
  expect((await server.send("GET", "/tools", undefined, { authorization: "Bearer for-prometheus" })).status).toBe(401);
});
