import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  startModelServer,
  wireText,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
} from "@millrace/testing/model-server";
import { projectFolder } from "../support/source-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { loadConfig } from "@millrace/engine/config/config";

let server: TestServer | undefined;
let model: ModelServer | undefined;
afterEach(async () => {
  await server?.remove();
  await model?.close();
});

/** The real workflow over HTTP, with the scripted model behind the real client. */
async function start(handler: (request: ModelRequest) => ModelStep): Promise<TestServer> {
  model = await startModelServer({ handler });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  const graphs = join(projectFolder, "langgraph.json");
  server = await startTestServer({ graphs, openai, model: "openai:scripted" });
  return server;
}

const Tuple = z.tuple([z.looseObject({ type: z.string(), content: z.string() }), z.looseObject({})]);
const human = (content: string) => ({ messages: [{ role: "user", content }] });

describe("a turn over HTTP", () => {
  it("streams tokens and tool results, and nothing that the model says only for the program", async () => {
    const script: ModelStep[] = [
      { text: '{"guess": "You want b.txt.", "questions": ["Which one?"]}' },
      { toolCalls: [{ name: "create_file", arguments: { path: "b.txt", content: "beta" } }] },
      { toolCalls: [{ name: "read_file", arguments: { path: "b.txt" } }] },
      { text: "Wrote and read b.txt." },
    ];
    const { client } = await start(() => script.shift() ?? { text: "No more." });
    const thread = await client.threads.create();
    const texts: string[] = [];
    const inputs = [
      { input: human("write a report") },
      { command: { resume: "write beta to b.txt and then read b.txt" } },
    ];
    for (const input of inputs) {
      const stream = client.runs.stream(thread.thread_id, "agent", { ...input, streamMode: ["messages-tuple"] });
      for await (const { event, data } of stream) {
        if (event === "messages") texts.push(Tuple.parse(data)[0].content);
      }
    }
    expect(texts.join("")).toContain("beta");
    expect(texts.join("")).toContain("Wrote and read b.txt.");
    expect(texts.join("")).not.toContain('"guess"');
  });

  it("waits for an approval over a restart, and goes on in the same session", async () => {
    const handler = (request: ModelRequest): ModelStep => {
      const last = request.messages.at(-1);
      if (last?.role === "tool") return { text: "The folder is gone." };
      return wireText(last ?? { role: "none" }).includes("tidy")
        ? { toolCalls: [{ name: "delete_file", arguments: { path: "old" } }] }
        : { text: "Still the same session." };
    };
    let current = await start(handler);
    const folder = join(current.config.workspace, "old");
    await mkdir(folder);
    await writeFile(join(folder, "a.txt"), "a");
    const { thread_id: id } = await current.client.threads.create();
    await current.client.runs.wait(id, "agent", { input: human("tidy up") });
    expect((await current.client.threads.get(id)).status).toBe("interrupted");

    await current.close();
    server = current = await current.restart();
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("a");
    const pending = Object.values((await current.client.threads.get(id)).interrupts ?? {}).flat();
    expect(pending).toEqual([expect.objectContaining({ value: expect.objectContaining({ kind: "confirmation" }) })]);
    await current.client.runs.wait(id, "agent", { command: { resume: { decisions: [{ type: "approve" }] } } });
    await expect(access(folder)).rejects.toMatchObject({ code: "ENOENT" });

    await current.client.runs.wait(id, "agent", { input: human("hello again, my friend") });
    const { values } = await current.client.threads.getState(id);
    const { messages } = z.object({ messages: z.array(z.looseObject({ content: z.string() })) }).parse(values);
    expect(messages.map(({ content }) => content)).toEqual([
      "tidy up",
      "",
      expect.stringContaining("Deleted"),
      "The folder is gone.",
      "hello again, my friend",
      "Still the same session.",
    ]);
  });

  it("ends with a clear error when the model server refuses, and keeps the message", async () => {
    const { client } = await start(() => ({ fault: { kind: "status", status: 401, message: "wrong key" } }));
    const { thread_id: id } = await client.threads.create();
    const answer: unknown = await client.runs.wait(id, "agent", {
      input: human("hello again, my friend"),
      raiseError: false,
    });
    expect(answer).toMatchObject({ __error__: { error: "auth", message: expect.stringContaining("Check the key") } });
    const { values } = await client.threads.getState(id);
    expect(values).toMatchObject({ messages: [expect.objectContaining({ content: "hello again, my friend" })] });
    expect((await client.threads.get(id)).status).toBe("error");
  });
});
