import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { startModelServer, type ModelRequest, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../support/source-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { loadConfig } from "@millrace/engine/config/config";

let server: TestServer | undefined;
let model: ModelServer | undefined;
afterEach(async () => {
  await server?.remove();
  await model?.close();
});

const human = (content: string) => ({ messages: [{ role: "user", content }] });
const exists = async (path: string): Promise<boolean> =>
  await access(path).then(
    () => true,
    () => false,
  );

/** A session in which two folders wait to be deleted. */
async function twoQuestions(context?: Record<string, unknown>) {
  const deletes: ModelStep = {
    toolCalls: ["a", "b"].map((path) => ({ name: "delete_file", arguments: { path } })),
  };
  const handler = (request: ModelRequest): ModelStep =>
    request.messages.at(-1)?.role === "tool" ? { text: "Done." } : deletes;
  model = await startModelServer({ handler });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  const graphs = join(projectFolder, "langgraph.json");
  server = await startTestServer({ graphs, openai, model: "offline" });
  const running = server;
  const { workspace } = running.config;
  for (const name of ["a", "b"]) {
    await mkdir(join(workspace, name));
    await writeFile(join(workspace, name, "file"), name);
  }
  const { client } = server;
  const { thread_id: id } = await client.threads.create();
  await client.runs.wait(id, "agent", { input: human("tidy up"), context: { model: "openai:scripted", ...context } });
  const folders = async () => [await exists(join(workspace, "a")), await exists(join(workspace, "b"))];
  const answer = async (resume: unknown): Promise<Response> =>
    await running.send("POST", `/threads/${id}/runs/wait`, { assistant_id: "agent", command: { resume } });
  return { folders, answer };
}

describe("two questions at once", () => {
  it("are never both answered by one yes", async () => {
    const { folders, answer } = await twoQuestions();
    const refused = await answer({ decisions: [{ type: "approve" }] });
    expect(refused.status).toBe(422);
    expect(await refused.text()).toContain("2 questions wait");
    expect(await folders()).toEqual([true, true]);
  });

  it("take as many decisions as there are questions, in their order, with the model that asked", async () => {
    const { folders, answer } = await twoQuestions();
    const answered = await answer({ decisions: [{ type: "approve" }, { type: "reject" }] });
    expect(await answered.json()).toMatchObject({
      messages: expect.arrayContaining([expect.objectContaining({ content: "Done." })]),
    });
    expect((await folders()).filter(Boolean)).toHaveLength(1);
  });
});
