import { afterEach, beforeEach, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(async () => {
  await server.remove();
});

const words = (values: unknown): string => JSON.stringify(values);

test("of many concurrent runs that interrupt, the last one admitted runs to its end", async () => {
  const { client } = server;
  for (let round = 0; round < 5; round += 1) {
    const { thread_id: id } = await client.threads.create();
    const runs = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        client.runs.create(id, "talker", {
          input: { messages: [{ role: "user", content: `message ${index}` }] },
          multitaskStrategy: "interrupt",
        }),
      ),
    );
    await Promise.all(runs.map((run) => client.runs.join(id, run.run_id)));
    const ended = await Promise.all(runs.map((run) => client.runs.get(id, run.run_id)));
    expect(ended.filter(({ status }) => status === "success").length).toBeGreaterThanOrEqual(1);
    expect((await client.threads.get(id)).status).toBe("idle");
  }
});

test("a run that interrupts does not end one that was queued after it", async () => {
  const { client } = server;
  const input = (content: string) => ({ input: { messages: [{ role: "user", content }] } });
  let isSeen = false;
  for (let round = 0; round < 20 && !isSeen; round += 1) {
    const { thread_id: id } = await client.threads.create();
    const [interrupting, queued] = await Promise.all([
      client.runs.create(id, "talker", { ...input("first"), multitaskStrategy: "interrupt" }),
      client.runs.create(id, "talker", { ...input("second"), multitaskStrategy: "enqueue" }),
    ]);
    await Promise.all([interrupting, queued].map(({ run_id }) => client.runs.join(id, run_id)));
    expect((await client.runs.get(id, interrupting.run_id)).status).toBe("success");
    // Of two concurrent requests either may be first: the queued run must be the later one.
    const [newest] = await client.runs.list(id);
    if (newest?.run_id !== queued.run_id) continue;
    expect((await client.runs.get(id, queued.run_id)).status).toBe("success");
    expect(words((await client.threads.getState(id)).values)).toContain("second");
    isSeen = true;
  }
  expect(isSeen).toBe(true);
});
