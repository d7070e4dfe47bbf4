import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const names = ["nested", "unnamed"] as const;

let server: TestServer;
let model: ModelServer;
let folder: string;
beforeEach(async () => {
  model = await startModelServer({
    script: [
      { toolCalls: [{ name: "create_file", arguments: { path: "notes.md", content: "kept" } }] },
      { text: "It is written." },
    ],
  });
  folder = await mkdtemp(join(tmpdir(), "millrace-loop-"));
  const file = join(projectFolder, "tests/http/agent/graphs-with-loop.ts");
  const graphs = join(folder, "langgraph.json");
  await writeFile(
    graphs,
    JSON.stringify({ graphs: Object.fromEntries(names.map((name) => [name, `${file}:${name}`])) }),
  );
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({ graphs, openai, model: "openai:scripted" });
});
afterEach(async () => {
  await server.remove();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

it.each(names)("a graph that calls the loop (%s) uses the server's ledger, workspace and undo", async (graph) => {
  const { thread_id } = await server.client.threads.create();
  const input = { messages: [{ role: "user", content: "Write it down." }] };
  await server.client.runs.wait(thread_id, graph, { input });
  const ask = async (path: string): Promise<unknown> =>
    (await server.send("GET", `/threads/${thread_id}/${path}`)).json();
  expect(await ask("tool-log")).toMatchObject({ total: 1, statistics: [{ tool: "create_file" }] });
  expect(await ask("operations")).toMatchObject({ operations: [{ path: "notes.md" }] });
});
