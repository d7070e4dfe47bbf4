import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startModelServer, wireText, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";
import { hasPrompt } from "../../../tests/support/system-text.ts";
import { writeReport } from "../prompts/write-report.ts";

let model: ModelServer;
let server: TestServer;
beforeEach(async () => {
  model = await startModelServer({ handler: () => ({ text: "Done." }) });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:usual",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

it("a run may begin with a task by the name of its action", async () => {
  const { thread_id } = await server.client.threads.create();
  await server.client.runs.wait(thread_id, "agent", {
    input: { messages: [{ role: "user", content: "x" }] },
    context: { action_type: "write_report" },
  });
  expect(hasPrompt(wireText(model.requests[0]?.messages[0] ?? { role: "none" }), writeReport)).toBe(true);
});

it("a run with an unknown action is refused", async () => {
  const { thread_id } = await server.client.threads.create();
  const body = { assistant_id: "agent", input: { messages: [] }, context: { action_type: "dance" } };
  const text = await (await server.send("POST", `/threads/${thread_id}/runs/wait`, body)).text();
  expect(text).toContain("invalid_parameter");
  expect(text).toContain("action_type");
});
