import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { SessionDetails } from "../../../src/sessions/overview/info.ts";
import { SessionActivity } from "../../../src/sessions/overview/status.ts";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let model: ModelServer;
let server: TestServer;
let steps: (ModelStep | Promise<ModelStep>)[] = [];
beforeEach(async () => {
  steps = [];
  model = await startModelServer({ handler: () => steps.shift() ?? { text: "Well." } });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

const messages = (content: string) => ({ messages: [{ role: "user", content }] });
const chosen = { model: "openai:gpt-4" };

/** A run that would start in an hour, with another context. */
async function delayed(id: string, input: object | null = messages("Later")): Promise<string> {
  const body = { assistant_id: "agent", input, context: { mode: "reply" }, after_seconds: 3600 };
  const response = await server.send("POST", `/threads/${id}/runs`, { ...body, multitask_strategy: "enqueue" });
  return z.looseObject({ run_id: z.string() }).parse(await response.json()).run_id;
}

const json = async (path: string): Promise<unknown> => (await server.send("GET", path)).json();
const statusOf = async (id: string) => SessionActivity.parse(await json(`/threads/${id}/status`));
const infoOf = async (id: string) => SessionDetails.parse(await json(`/threads/${id}/info`));
const question = { toolCalls: [{ name: "ask_followup_question", arguments: { question: "Which day is it for?" } }] };

describe("a run that was stopped before it started, or is still pending", () => {
  it("leaves the thread's question, and the model of the run that asked it", async () => {
    steps = [question];
    const { thread_id: id } = await server.client.threads.create();
    await server.client.runs.wait(id, "agent", { input: messages("Create a task"), context: chosen });
    const [status, info] = [await statusOf(id), await infoOf(id)];
    expect(status.conversation_state).toMatchObject({ state: "ToolCalling", status: "awaiting_answer" });
    expect(status.model.name).toBe(chosen.model);
    await server.client.runs.cancel(id, await delayed(id), true);
    expect(await statusOf(id)).toEqual(status);
    expect((await infoOf(id)).context_usage).toEqual(info.context_usage);
    const copy = await server.client.threads.copy(id);
    expect(copy).toMatchObject({ config: { context: chosen } });
  });

  it("leaves the thread's error to the run that failed", async () => {
    const answer = Promise.withResolvers<ModelStep>();
    steps = [answer.promise];
    const { thread_id: id } = await server.client.threads.create();
    const context = { on_error: "fail" };
    const run = await server.client.runs.create(id, "agent", { input: messages("Create a task"), context });
    await server.client.runs.cancel(id, await delayed(id), true);
    answer.resolve({ fault: { kind: "status", status: 401 } });
    await server.client.runs.join(id, run.run_id);
    expect((await statusOf(id)).error).toMatchObject({ error: "auth" });
    expect(await json(`/threads/${id}`)).toMatchObject({ status: "error", error: { error: "auth" } });
    await server.client.runs.cancel(id, await delayed(id), true);
    expect(await statusOf(id)).toMatchObject({ error: { error: "auth" }, conversation_state: { state: "Error" } });
  });
});
