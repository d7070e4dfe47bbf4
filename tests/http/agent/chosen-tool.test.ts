import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let model: ModelServer;
beforeEach(async () => {
  model = await startModelServer({ script: [] });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), openai });
  const { dataDir } = server.config;
  await mkdir(dataDir, { recursive: true });
  await writeFile(join(dataDir, "models.yaml"), `providers:\n  zhipu: { base_url: "${model.url}" }\n`);
  await writeFile(join(dataDir, "credentials.json"), JSON.stringify({ ZHIPU_API_KEY: "test-key" }), { mode: 0o600 });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

const Values = z.looseObject({
  messages: z.array(
    z.looseObject({ type: z.string(), content: z.string(), additional_kwargs: z.looseObject({}).optional() }),
  ),
});

/** One turn on a new thread with a chosen tool: its messages, and the state of its thread. */
async function turn(name: string, request: string, steps: ModelStep[]) {
  model.push(...steps);
  const { thread_id } = await server.client.threads.create();
  const input = { messages: [{ role: "user", content: request }] };
  await server.client.runs.wait(thread_id, "agent", { input, context: { model: name, selected_tool: "list_files" } });
  const { values } = await server.client.threads.getState(thread_id);
  const { status } = await server.client.threads.get(thread_id);
  model.assertFinished();
  return { messages: Values.parse(values).messages, status };
}

const call: ModelStep = { toolCalls: [{ name: "list_files", arguments: {} }] };
const toolsOf = (at: number): unknown[] => model.requests[at]?.toolNames ?? [];

describe.each([
  { vendor: "a vendor with tool_choice", name: "openai:scripted", hasChoice: true },
  { vendor: "a vendor without tool_choice", name: "zhipu:glm-4.7", hasChoice: false },
])("a chosen tool with a model of $vendor", ({ name, hasChoice }) => {
  it("is requested a second time when the model only replies with text, and then runs", async () => {
    const { messages } = await turn(name, "What is here?", [
      { text: "I believe it is empty." },
      call,
      { text: "Nothing is here." },
    ]);
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "ai", "tool", "ai"]);
    expect(messages.at(-1)?.content).toBe("Nothing is here.");
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("You have answered in words.");
    for (const at of [0, 1]) {
      if (hasChoice) {
        expect(model.requests[at]?.body["tool_choice"]).toEqual({ type: "function", function: { name: "list_files" } });
      } else {
        expect(model.requests[at]?.body).not.toHaveProperty("tool_choice");
        expect(toolsOf(at)).toEqual(["list_files"]);
      }
    }
  });

  it("ends the turn with a clear error when the model replies with text again, without a third request", async () => {
    const { messages, status } = await turn(name, "What is here?", [
      { text: "I believe it is empty." },
      { text: "As I said." },
    ]);
    expect(model.requests).toHaveLength(2);
    expect(messages.at(-1)).toMatchObject({
      type: "ai",
      content: expect.stringMatching(/list_files, was not called.*Choose a model that calls tools/u),
      additional_kwargs: { end_reason: "error" },
    });
    expect(messages.filter(({ type }) => type === "tool")).toEqual([]);
    expect(status).toBe("idle");
  });

  it("gives that error in the language of the request", async () => {
    const { messages } = await turn(name, "这里有什么？", [{ text: "没有。" }, { text: "没有。" }]);
    expect(messages.at(-1)?.content).toMatch(/未能调用您指定的工具 list_files/u);
  });
});
