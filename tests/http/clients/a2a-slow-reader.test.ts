import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-a2a-"));
  const graphs = { shouter: `${join(import.meta.dirname, "../../support/test-graphs.ts")}:shouter` };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  server = await startTestServer({ graphs: join(folder, "langgraph.json"), drainSeconds: 0.1 });
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

/** How many readers follow the runs at work, as `/metrics` reports it. */
async function readers(): Promise<number> {
  const text = await (await server.send("GET", "/metrics")).text();
  return Number(/^millrace_readers\{of="runs"\} (\d+)$/mu.exec(text)?.[1]);
}

it("a reader that is too slow over A2A is disconnected and no longer counts as one, while the run works", async () => {
  const gate = crypto.randomUUID();
  const message = { kind: "message", messageId: "m-1", role: "user", parts: [{ kind: "text", text: gate }] };
  const sent = httpRequest(`${server.url}/a2a/shouter`, {
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  sent.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/stream", params: { message } }));
  // The first argument of a request's "response" event is the response. Nothing reads it.
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  await expect.poll(readers).toBe(1);
  // A slow reader has two seconds: with each look they have passed, and the run says more.
  const now = performance.now.bind(performance);
  let later = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() + later);
  let events = 0;
  const next = async (): Promise<number> => {
    later += 3_000;
    if (events < 20) openGate(`${gate}-${events}`);
    events += 1;
    return await readers();
  };
  await expect.poll(next, { timeout: 20_000 }).toBe(0);
  const [run] = await server.client.threads.search();
  expect(run?.status).toBe("busy");
  response.destroy();
});
