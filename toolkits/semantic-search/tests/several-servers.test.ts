import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { startModelServer } from "@millrace/testing/model-server";
import { startPostgres } from "../../../tests/support/processes/postgres.ts";
import { projectFolder } from "../../../tests/support/source-files.ts";
import type { TestServer } from "../../../tests/support/test-server.ts";
import { createServers } from "../../../tests/servers/two-servers.ts";
import { wordVector } from "./word-vectors.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

it.skipIf(postgres === undefined)("servers with workspaces of their own keep an index each", async () => {
  const servers = await createServers(postgres);
  const folder = await mkdtemp(join(tmpdir(), "millrace-"));
  const model = await startModelServer({ script: [], embed: wordVector });
  try {
    const start = async (text: string): Promise<TestServer> => {
      const workspace = await mkdtemp(join(folder, "workspace-"));
      await writeFile(join(workspace, "pets.md"), text);
      return await servers.start({
        graphs: join(projectFolder, "langgraph.json"),
        model: "openai:scripted",
        openai: { apiKey: "test-key", baseUrl: model.url },
        embeddingModel: "openai:vectors",
        workspace,
      });
    };
    const [one, other] = [await start("The kitten sleeps."), await start("The cat eats.")];
    const search = async (server: TestServer): Promise<string> => {
      model.push({ toolCalls: [{ name: "semantic_search", arguments: { query: "cats" } }] }, { text: "Done." });
      const input = { messages: [{ role: "user", content: "Where are the cats?" }] };
      return JSON.stringify(await server.client.runs.wait(null, "agent", { input }));
    };
    expect([await search(one), await search(other)]).toEqual([
      expect.stringContaining("The kitten sleeps."),
      expect.stringContaining("The cat eats."),
    ]);
    const embedded = model.embedded.length;
    expect([await search(one), await search(other)]).toEqual([
      expect.stringContaining("The kitten sleeps."),
      expect.stringContaining("The cat eats."),
    ]);
    // Only the query.
    expect(model.embedded.slice(embedded).flatMap(({ body: { input } }) => input)).toEqual(["cats", "cats"]);
  } finally {
    await servers.close();
    await model.close();
    await rm(folder, { recursive: true, force: true });
  }
});
