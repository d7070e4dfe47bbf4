import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { namesInWorkspace, startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let model: ModelServer;
beforeEach(async () => {
  model = await startModelServer({ script: [] });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), openai, model: "openai:scripted" });
  await mkdir(join(server.config.workspace, "old"));
  await writeFile(join(server.config.workspace, "old", "a.txt"), "a");
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

const Values = z.looseObject({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });

async function say(id: string, content: string) {
  await server.client.runs.wait(id, "agent", { input: { messages: [{ role: "user", content }] } });
  const { messages } = Values.parse((await server.client.threads.getState(id)).values);
  return { last: messages.at(-1)?.content, status: (await server.client.threads.get(id)).status };
}

/** A thread that waits for approval to delete a folder. */
async function waiting(): Promise<string> {
  const { thread_id } = await server.client.threads.create();
  model.push({ toolCalls: [{ name: "delete_file", arguments: { path: "old" } }] });
  expect(await say(thread_id, "tidy up, will you")).toMatchObject({ status: "interrupted" });
  return thread_id;
}

describe("the next message of a thread that waits for approval", () => {
  it.each(["confirm", "yes", "OK", "确认", " 同意。"])("approves with the word %s", async (word) => {
    const id = await waiting();
    model.push({ text: "The folder is gone." });
    expect(await say(id, word)).toEqual({ last: "The folder is gone.", status: "idle" });
    expect(await namesInWorkspace(server.config)).toEqual([]);
  });

  it.each(["no", "拒绝"])("rejects with the word %s", async (word) => {
    const id = await waiting();
    model.push({ text: "All right, it stays." });
    expect(await say(id, word)).toEqual({ last: "All right, it stays.", status: "idle" });
    expect(await namesInWorkspace(server.config)).toEqual(["old"]);
  });

  it("leaves the question unanswered with any other text, and deletes nothing", async () => {
    const id = await waiting();
    model.push({ text: "It is three o'clock." });
    expect(await say(id, "yes, but what time is it?")).toEqual({ last: "It is three o'clock.", status: "idle" });
    expect(await namesInWorkspace(server.config)).toEqual(["old"]);
  });
});
