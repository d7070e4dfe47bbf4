import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { startModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer } from "../../support/test-server.ts";
import { startPostgres } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

/** The statements that clients have sent since the last call, by how they begin; without the beats of the server's lock. */
function countStatements(): () => string[] {
  const sent = vi.spyOn(pg.Client.prototype, "query");
  return () => {
    const texts = sent.mock.calls.map(([text]) => String(text).replaceAll(/\s+/gu, " ").slice(0, 90));
    sent.mockClear();
    return texts.filter((text) => !text.includes("server_lock"));
  };
}

// These only ever go down; they were 15, 14 and more than twice as many.
const mostOfNew = 7;
const mostOfKnown = 7;
const mostOfAgent = 60;

describe.skipIf(server === undefined)("the statements of a run, each of which is a round trip to PostgreSQL", () => {
  let taken: () => string[];
  beforeAll(() => {
    taken = countStatements();
  });
  afterAll(() => void vi.restoreAllMocks());
  const close: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const step of close.splice(0).toReversed()) await step();
  });

  it("are few for a graph of one node, in a new thread and in one that has states", async () => {
    const served = await startTestServer({ database: (await server?.create()) ?? "" });
    close.push(() => served.remove());
    const { client } = served;
    const add = (threadId: string) => client.runs.wait(threadId, "counter", { input: { value: 1 } });
    // Keys of rows come in blocks; the first run takes one.
    await add((await client.threads.create()).thread_id);
    const { thread_id } = await client.threads.create();
    taken();
    expect(await add(thread_id)).toMatchObject({ value: 2 });
    const ofNew = taken();
    expect(ofNew.length, ofNew.join("\n")).toBeLessThanOrEqual(mostOfNew);
    await add(thread_id);
    const ofKnown = taken();
    expect(ofKnown.length, ofKnown.join("\n")).toBeLessThanOrEqual(mostOfKnown);
  });

  it("are few for an agent that calls five tools", async () => {
    const read = { toolCalls: [{ name: "read_file", arguments: { path: "notes.md" } }] };
    const model = await startModelServer({ script: [read, read, read, read, read, { text: "It is 42." }] });
    close.push(() => model.close());
    const served = await startTestServer({
      database: (await server?.create()) ?? "",
      graphs: join(projectFolder, "langgraph.json"),
      model: "openai:scripted",
      openai: { apiKey: "test-key", baseUrl: model.url },
    });
    close.push(() => served.remove());
    writeFileSync(join(served.config.workspace, "notes.md"), "The answer is 42.\n");
    const { client } = served;
    const { thread_id } = await client.threads.create();
    taken();
    await client.runs.wait(thread_id, "agent", {
      input: { messages: [{ role: "user", content: "What do my notes say?" }] },
      context: { mode: "free_work" },
    });
    const ofAgent = taken();
    model.assertFinished();
    expect(ofAgent.length, ofAgent.join("\n")).toBeLessThanOrEqual(mostOfAgent);
  });
});
