import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { FaultProxy, type LinkFault } from "@millrace/testing/fault-proxy";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let proxy: FaultProxy;
let faults: LinkFault[] = [];
beforeAll(async () => {
  server = await startTestServer();
});
// Each with its own connections: a kept connection would miss the fault.
beforeEach(async () => {
  proxy = await new FaultProxy(
    () => Number(new URL(server.url).port),
    () => faults.shift() ?? { kind: "none" },
  ).listen();
});
afterEach(() => proxy.close());
afterAll(() => server.remove());

it("the SDK retries after a short network failure without an error for its caller", async () => {
  const { thread_id } = await server.client.threads.create();
  faults = [{ kind: "reset", after: 1 }];
  const client = new Client({ apiUrl: proxy.url, callerOptions: { maxRetries: 3 } });
  expect((await client.threads.get(thread_id)).thread_id).toBe(thread_id);
  expect(proxy.broken).toBe(1);
});

it("a request that starts a run is repeated with its Idempotency-Key, and starts one run", async () => {
  const { thread_id } = await server.client.threads.create();
  const headers = { "content-type": "application/json", "idempotency-key": "once" };
  const body = JSON.stringify({ assistant_id: "counter", input: {} });
  const send = async (): Promise<Response> =>
    await fetch(`${proxy.url}/threads/${thread_id}/runs`, { method: "POST", headers, body });
  faults = [{ kind: "reset", after: 1 }];
  await expect(send()).rejects.toThrow(/fetch failed/u);
  const answer: unknown = await (await send()).json();
  const runs = await server.client.runs.list(thread_id);
  expect(runs).toHaveLength(1);
  expect(answer).toMatchObject({ run_id: runs[0]?.run_id });
});
