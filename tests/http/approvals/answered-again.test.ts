import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "tests/fixtures/graphs/langgraph.json") });
});
afterAll(() => server.remove());

describe("an answered question", () => {
  it("refuses a second answer; a fork from its checkpoint asks it again", async () => {
    const { client } = server;
    const { thread_id: thread } = await client.threads.create();
    const run = async (payload: Parameters<typeof client.runs.create>[2]): Promise<void> => {
      const { run_id } = await client.runs.create(thread, "asking", payload);
      await client.runs.join(thread, run_id);
    };
    await run({ input: {} });
    const asked = await client.threads.getState(thread);
    const [question] = asked.tasks[0]?.interrupts ?? [];
    const command = { resume: { [question?.id ?? ""]: "Ada" } };
    await run({ command });
    const next = async () => (await client.threads.getState(thread)).tasks[0]?.interrupts[0]?.value;
    expect(await next()).toEqual({ question: "How old are you, Ada?" });
    await expect(run({ command })).rejects.toThrow("answered already");
    const checkpointId = asked.checkpoint.checkpoint_id ?? "";
    await run({ command: { resume: "36" } });
    expect(await next()).toBeUndefined();
    // A fork from the checkpoint that asked.
    await run({ input: null, checkpointId });
    expect(await next()).toEqual({ question: "What is your name?" });
    const [again] = (await client.threads.getState(thread)).tasks[0]?.interrupts ?? [];
    await run({ command: { resume: { [again?.id ?? ""]: "Bob" } } });
    expect(await next()).toEqual({ question: "How old are you, Bob?" });
  });
});
