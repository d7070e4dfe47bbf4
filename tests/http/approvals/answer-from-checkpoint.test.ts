import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "tests/fixtures/graphs/langgraph.json") });
});
afterAll(() => server.remove());

/** A thread that asked for a name, and the checkpoint with that question. */
async function asked() {
  const { client } = server;
  const { thread_id: thread } = await client.threads.create();
  const run = async (payload: Parameters<typeof client.runs.create>[2]): Promise<string> => {
    const { run_id } = await client.runs.create(thread, "asking", payload);
    await client.runs.join(thread, run_id);
    return (await client.runs.get(thread, run_id)).status;
  };
  await run({ input: {} });
  const state = await client.threads.getState(thread);
  return { run, thread, checkpointId: state.checkpoint.checkpoint_id ?? "", id: state.tasks[0]?.interrupts[0]?.id };
}

const question = async (thread: string) => {
  const { tasks } = await server.client.threads.getState(thread);
  return tasks[0]?.interrupts[0]?.value;
};

describe("an answer without an id, sent with the checkpoint of a question", () => {
  it("answers the question of that checkpoint, never a later one", async () => {
    const { run, thread, checkpointId } = await asked();
    await run({ command: { resume: "Ada" } });
    const answer = run({ command: { resume: "Bob" }, checkpointId });
    await expect(answer).rejects.toThrow("has been answered already");
    expect(await question(thread)).toEqual({ question: "How old are you, Ada?" });
    await run({ command: { resume: "36" } });
    await expect(run({ command: { resume: "Bob" }, checkpointId })).rejects.toThrow("has been answered already");
    expect((await server.client.threads.getState(thread)).values).toMatchObject({ name: "Ada", age: "36" });
  });

  it("answers it while it is open, and after it was asked again", async () => {
    const { run, thread, checkpointId } = await asked();
    await run({ command: { resume: "Dee" }, checkpointId });
    expect(await question(thread)).toEqual({ question: "How old are you, Dee?" });
    await run({ input: null, checkpointId });
    const anew = await server.client.threads.getState(thread);
    await run({ command: { resume: "Eve" }, checkpointId: anew.checkpoint.checkpoint_id ?? "" });
    expect(await question(thread)).toEqual({ question: "How old are you, Eve?" });
  });

  it("is refused if that checkpoint has no question, and leaves open questions as they are", async () => {
    const { run, thread } = await asked();
    await run({ command: { resume: "Ada" } });
    const first = (await server.client.threads.getHistory(thread)).at(-1);
    const answer = run({ command: { resume: "37" }, checkpointId: first?.checkpoint.checkpoint_id ?? "" });
    await expect(answer).rejects.toThrow("asks nothing");
    await run({ command: { resume: "36" } });
    expect((await server.client.threads.getState(thread)).values).toMatchObject({ name: "Ada", age: "36" });
  });
});
