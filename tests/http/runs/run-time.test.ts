import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ runSeconds: 0.2 });
});
afterAll(() => server.remove());

describe("the time limit of runs", () => {
  it("ends a run of any graph with the status timeout, and its thread accepts the next one", async () => {
    const { thread_id } = await server.client.threads.create();
    const run = await server.client.runs.create(thread_id, "gated", { input: { gate: thread_id } });
    const values: unknown = await server.client.runs.join(thread_id, run.run_id);
    expect(values).toMatchObject({ __error__: { error: "timeout", message: expect.stringContaining("time is up") } });
    expect((await server.client.runs.get(thread_id, run.run_id)).status).toBe("timeout");
    // Its step is still to be done, as after any stop of a user's own graph.
    expect((await server.client.threads.get(thread_id)).status).toBe("interrupted");
    const next: unknown = await server.client.runs.wait(thread_id, "counter", { input: { value: 1 } });
    expect(next).toEqual({ value: 2 });
  });

  it("cannot be extended by a run, only shortened", async () => {
    const { thread_id } = await server.client.threads.create();
    for (const timeout of [60_000, 1]) {
      const body = { assistant_id: "gated", input: { gate: thread_id }, config: { timeout } };
      const response = await server.send("POST", `/threads/${thread_id}/runs/wait`, body);
      expect(await response.json()).toMatchObject({ __error__: { error: "timeout" } });
    }
  });
});
