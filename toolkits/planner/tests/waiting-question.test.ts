import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { readEvents } from "@millrace/testing/read-events";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

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

/** A run that would begin in an hour, with other choices. */
async function delayed(id: string, input: object | null = messages("Later")): Promise<string> {
  const body = { assistant_id: "agent", input, context: { mode: "reply" }, after_seconds: 3600 };
  const response = await server.send("POST", `/threads/${id}/runs`, { ...body, multitask_strategy: "enqueue" });
  return z.looseObject({ run_id: z.string() }).parse(await response.json()).run_id;
}

const kindsOf = async (runId: string): Promise<(string | undefined)[]> => {
  const events = await readEvents(await server.send("GET", `/api/ai/chat/stream/${runId}`));
  return events.map(({ event = "message" }) => event);
};
const question = { toolCalls: [{ name: "ask_followup_question", arguments: { question: "Which day is it for?" } }] };

it("a run that has not begun, or was stopped before, leaves the question to the answer that asked it, when that is read again", async () => {
  steps = [question];
  const body = { messages: [{ role: "user", text: "Create a task" }] };
  const answer = await server.send("POST", "/api/ai/chat", body);
  const id = answer.headers.get("x-thread-id") ?? "";
  const runId = answer.headers.get("content-location")?.split("/").at(-1) ?? "";
  const asked = await kindsOf(runId);
  expect(asked).toEqual(["message", "question", "done"]);
  // One that goes on passes over no question.
  const waiting = await delayed(id, null);
  expect(await kindsOf(runId)).toEqual(asked);
  await server.client.runs.cancel(id, waiting, true);
  expect(await kindsOf(runId)).toEqual(asked);
  const later = await delayed(id);
  await server.client.runs.cancel(id, later, true);
  expect(await kindsOf(runId)).toEqual(asked);
  expect(await kindsOf(later)).not.toContain("question");
});
