import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { identityChat } from "../../../src/prompts/identity/identity-chat.ts";
import { identityDocument } from "../prompts/identity-document.ts";
import { projectFolder } from "../../../tests/support/source-files.ts";
import {
  startModelServer,
  startTestServer,
  type ModelServer,
  type TestServer,
} from "../../../tests/support/testing.ts";

let model: ModelServer;
let server: TestServer;
const at = (path: string): string => join(server.config.workspace, path);
beforeAll(async () => {
  model = await startModelServer({});
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
});
beforeEach(async () => {
  for (const name of await readdir(server.config.workspace)) await rm(at(name), { recursive: true });
  for (const name of ["notes.md", "one.txt", "two.txt"]) await writeFile(at(name), `This is ${name}.\n`);
});

const Messages = z.object({
  messages: z.array(
    z.looseObject({
      type: z.string(),
      content: z.string(),
      tool_calls: z.array(z.looseObject({ name: z.string() })).default([]),
    }),
  ),
});

/** A turn for documents: what the assistant said, and called, in order. */
async function turn(content: string, more: object = {}): Promise<{ calls: string[]; said: string[] }> {
  const { thread_id } = await server.client.threads.create();
  const values = await server.client.runs.wait(thread_id, "agent", {
    input: { messages: [{ role: "user", content }] },
    context: { toolkits: ["files", "documents"], ...more },
  });
  const answers = Messages.parse(values).messages.filter(({ type }) => type === "ai");
  return {
    calls: answers.flatMap(({ tool_calls }) => tool_calls.map(({ name }) => name)),
    said: answers.flatMap(({ content: text }) => (text === "" ? [] : [text])),
  };
}

describe("the assistant for documents (DOC-07)", () => {
  it.each([
    ["thanks", "Thank you!"],
    ["a question", "How does one describe good weather?"],
    ["thanks in Chinese", "谢谢"],
  ])("answers %s in words, without a tool", async (_, words) => {
    const { calls, said } = await turn(words);
    expect(calls).toEqual([]);
    expect(said).toHaveLength(1);
  });

  it("looks at a file when that is wanted, and no more", async () => {
    const { calls, said } = await turn("Help me look at the file notes.md");
    expect(calls).toEqual(["read_file"]);
    expect(said.at(-1)).toContain("This is notes.md.");
    expect((await readdir(server.config.workspace)).toSorted()).toEqual(["notes.md", "one.txt", "two.txt"]);
  });

  it("renames at once, without announcing it first", async () => {
    const { calls, said } = await turn("Rename notes.md to journal.md");
    expect(calls).toEqual(["move_file"]);
    expect(said).toHaveLength(1);
    expect(await readFile(at("journal.md"), "utf8")).toBe("This is notes.md.\n");
  });

  it("acts until the user's wish for order is fulfilled", async () => {
    const call = (name: string, args: Record<string, unknown>) => ({ toolCalls: [{ name, arguments: args }] });
    model.push(
      call("list_files", {}),
      call("create_folder", { path: "texts" }),
      call("move_file", { source: "one.txt", destination: "texts/one.txt" }),
      call("move_file", { source: "two.txt", destination: "texts/two.txt" }),
      call("list_files", {}),
      {
        text: "The texts are in a folder of their own now: one.txt and two.txt lie in texts, and notes.md stays where it was.",
      },
    );
    const { calls } = await turn("I need to organise these files", { model: "openai:scripted", mode: "free_work" });
    expect(calls).toEqual(["list_files", "create_folder", "move_file", "move_file", "list_files"]);
    expect((await readdir(at("texts"))).toSorted()).toEqual(["one.txt", "two.txt"]);
    const system = JSON.stringify(model.requests[0]?.messages[0]);
    expect(system).toContain("You are an expert for documents.");
    model.assertFinished();
  });
});

describe("the identities for documents (DOC-08, DOC-09)", () => {
  const agent = identityDocument.content.replaceAll("\n", " ");

  it("are templates that a user may replace: one for work, and one of a line or two for talk", async () => {
    expect(agent.length).toBeGreaterThan(1000);
    expect(identityChat.content.split("\n").length).toBeLessThanOrEqual(2);
    const prompts = z
      .array(z.looseObject({ name: z.string() }))
      .parse(await (await server.send("GET", "/prompts")).json());
    expect(prompts.map(({ name }) => name)).toEqual(expect.arrayContaining(["identity_document", "identity_chat"]));
  });

  it("say how a wish is recognised, and what follows from it", () => {
    for (const words of [
      "A thank you, small talk or a question of general knowledge gets an answer in words.",
      "A wish to see something gets a look at it.",
      "A wish to change something is done at once, without announcing it first.",
      "Several wishes in one message are done one after the other until all are done.",
    ]) {
      expect(agent).toContain(words);
    }
  });

  it("name the abilities: writing, files, Word documents, the editor, and looking things up", () => {
    for (const words of [
      "You answer questions about documents and writing.",
      "You read, create, change, rename, move and delete files.",
      "You change the document that is open in the editor.",
      "You look things up when something from outside is needed.",
      "A Word document is made by creating a file whose name ends in .docx, best from HTML.",
    ]) {
      expect(agent).toContain(words);
    }
  });
});
