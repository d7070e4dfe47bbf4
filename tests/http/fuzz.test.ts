import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { fuzzRequests, sendFuzz, type FuzzSource } from "../support/fuzz-requests.ts";
import { describedRoutes } from "../support/described-routes.ts";

/** Requests; S5 in reliability.md has 5,000. */
const requests = Number(process.env["FUZZ"] ?? 500);
const seed = Number(process.env["SEED"] ?? Date.now() % 100_000);
/** Milliseconds no request may take. */
const slowest = 2000;

let server: TestServer;
let source: FuzzSource;
beforeAll(async () => {
  server = await startTestServer();
  const known: string[] = [];
  const threads = await Promise.all([1, 2, 3].map(() => server.client.threads.create()));
  for (const { thread_id } of threads) {
    await server.client.runs.wait(thread_id, "talker", { input: { messages: [{ role: "user", content: "hello" }] } });
    const [run] = await server.client.runs.list(thread_id);
    const { checkpoint } = await server.client.threads.getState(thread_id);
    known.push(thread_id, run?.run_id ?? "", checkpoint.checkpoint_id ?? "");
  }
  // Those of the test's graphs whose runs end; `gated` waits for a door.
  const assistants = ["counter", "talker", "asker", "failing", "nested", "mirror", "nobody"];
  source = { ...(await describedRoutes(server)), known, assistants };
});
afterAll(() => server.remove());

test(
  `${requests} requests made from our own /openapi.json: no 5xx, none over 2 s (seed ${seed})`,
  { timeout: 600_000 },
  async () => {
    const statuses = new Map<number, number>();
    let longest = 0;
    const property = fc.asyncProperty(fuzzRequests(source), async (request) => {
      const { route, path } = request;
      const started = performance.now();
      const { status, text } = await sendFuzz(server.url, request);
      const took = performance.now() - started;
      longest = Math.max(longest, took);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      expect(status, `${route.method} ${path}: ${text.slice(0, 300)}`).toBeLessThan(500);
      expect(took, `${route.method} ${path}`).toBeLessThan(slowest);
    });
    await fc.assert(property, { numRuns: requests, seed, endOnFailure: true });
    const counts = [...statuses]
      .toSorted(([left], [right]) => left - right)
      .map(([status, count]) => `${count} x ${status}`);
    process.stdout.write(`${requests} requests: ${counts.join(", ")}; longest ${longest.toFixed(0)} ms\n`);
    expect((await server.send("GET", "/ok")).status).toBe(200);
    expect(Object.keys(Object.prototype)).toEqual([]);
    // Most requests have to mean something, or the generator is worth nothing.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(requests / 10);
  },
);
