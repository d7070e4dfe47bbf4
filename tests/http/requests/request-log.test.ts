import { afterEach, expect, it } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer | undefined;
afterEach(async () => {
  await server?.remove();
  server = undefined;
});

/** A server, and the lines of its log with one event name. */
async function start(level: string, changes: Parameters<typeof startTestServer>[0] = {}) {
  const lines: Record<string, unknown>[] = [];
  const logger = createLogger(level, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const started = await startTestServer(changes, logger);
  server = started;
  return { started, lines: (name: string) => lines.filter(({ msg }) => msg === name) };
}

it("the log has a line for the start and the end of each run, also of users' own graphs", async () => {
  const { started, lines } = await start("info");
  const { thread_id } = await started.client.threads.create();
  await started.client.runs.wait(thread_id, "counter", { input: { count: 1 } });
  const failing = await started.client.runs.create(thread_id, "failing", { input: {} });
  await started.client.runs.join(thread_id, failing.run_id);
  const about = { session_id: thread_id, run_id: expect.any(String), attempt: 1 };
  expect(lines("run_started")).toMatchObject([
    { ...about, graph_id: "counter" },
    { ...about, graph_id: "failing", run_id: failing.run_id },
  ]);
  expect(lines("run_ended")).toMatchObject([
    { ...about, graph_id: "counter", status: "success", duration_ms: expect.any(Number) },
    {
      ...about,
      graph_id: "failing",
      status: "error",
      error: { message: expect.any(String) },
      duration_ms: expect.any(Number),
    },
  ]);
  expect(lines("request")).toEqual([]);
});

it("the log has refused keys without their text, and limits their number", async () => {
  const { started, lines } = await start("info", { apiKeys: [{ owner: "ada", key: "a-long-secret" }] });
  const refused = await started.send("GET", "/tools", undefined, { "x-api-key": "a-wrong-secret" });
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  const [line] = lines("request_refused");
  expect(line).toMatchObject({
    level: 40,
    method: "GET",
    path: "/tools",
    status: 401,
    from: "127.0.0.1",
    has_key: true,
  });
  expect(line?.["request_id"]).toBe(refused.headers.get("x-request-id"));
  expect(JSON.stringify(line)).not.toContain("secret");
  await Promise.all(Array.from({ length: 50 }, () => started.send("GET", "/tools")));
  expect(lines("request_refused")).toHaveLength(20);
});

it("the log has slow requests, and at debug level every request", async () => {
  const { started, lines } = await start("debug", { slowRequestSeconds: 0.000_001 });
  const { thread_id } = await started.client.threads.create();
  expect(lines("request_slow")).toMatchObject([{ level: 40, method: "POST", path: "/threads", status: 200 }]);
  // It takes as long as its run.
  await started.client.runs.wait(thread_id, "counter", { input: { count: 1 } });
  expect(lines("request_slow")).toHaveLength(1);
  expect(lines("request")).toMatchObject([{ level: 20, method: "POST", path: `/threads/${thread_id}/runs/wait` }]);
});
