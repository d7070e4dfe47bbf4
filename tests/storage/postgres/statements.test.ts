import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { startModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer } from "../../support/test-server.ts";
import { startPostgres } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

/** The statements that clients have sent since the last call, by how they begin; without the server's heartbeats. */
function countStatements(): () => string[] {
  const query = vi.spyOn(pg.Client.prototype, "query");
  return () => {
    const texts = query.mock.calls.map(([sent]) => {
      const { text } = z
        .object({ text: z.string() })
        .catch({ text: String(sent) })
        .parse(sent);
      return text.replaceAll(/\s+/gu, " ").slice(0, 90);
    });
    query.mockClear();
    return texts.filter((text) => !text.includes("server_lock") && !text.includes("UPDATE servers"));
  };
}

// These limits only ever go down; they were 15, 14 and more than twice as many, then 7, 7 and 60.
const maxOfNew = 5;
const maxOfKnown = 5;
const maxOfAgent = 50;
// A state is read in one statement, and written in two.
const maxOfCopy = { state: 3, rest: 10 };

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

  /**
   * The statements of the run with the fewest, of several runs: on a slow machine events are written separately, with a
   * statement that other runs do not need.
   */
  async function fewest(most: number, prepare: () => Promise<() => Promise<unknown>>): Promise<string[]> {
    let found: string[] = [];
    for (let tries = 0; tries < 20; tries += 1) {
      const run = await prepare();
      taken();
      await run();
      const statements = taken();
      if (tries === 0 || statements.length < found.length) found = statements;
      if (found.length <= most) break;
    }
    return found;
  }

  it("are few for a graph of one node, in a new thread and in one that has states", async () => {
    const served = await startTestServer({ database: (await server?.create()) ?? "" });
    close.push(() => served.remove());
    const { threads, runs } = served.client;
    const add = (threadId: string) => runs.wait(threadId, "counter", { input: { value: 1 } });
    const { thread_id: known } = await threads.create();
    // Row keys are reserved in blocks; the first run reserves one.
    expect(await add(known)).toMatchObject({ value: 2 });
    const ofNew = await fewest(maxOfNew, async () => {
      const { thread_id } = await threads.create();
      return () => add(thread_id);
    });
    expect(ofNew.length, ofNew.join("\n")).toBeLessThanOrEqual(maxOfNew);
    const ofKnown = await fewest(maxOfKnown, async () => () => add(known));
    expect(ofKnown.length, ofKnown.join("\n")).toBeLessThanOrEqual(maxOfKnown);
  });

  it("are few for an agent that calls five tools", async () => {
    const read = { toolCalls: [{ name: "read_file", arguments: { path: "notes.md" } }] };
    const model = await startModelServer({
      handler: ({ messages }) =>
        messages.filter(({ role }) => role === "tool").length < 5 ? read : { text: "It is 42." },
    });
    close.push(() => model.close());
    const served = await startTestServer({
      database: (await server?.create()) ?? "",
      graphs: join(projectFolder, "langgraph.json"),
      model: "openai:scripted",
      openai: { apiKey: "test-key", baseUrl: model.url },
    });
    close.push(() => served.remove());
    writeFileSync(join(served.config.workspace, "notes.md"), "The answer is 42.\n");
    const { threads, runs } = served.client;
    const input = { messages: [{ role: "user", content: "What do my notes say?" }] };
    const ofAgent = await fewest(maxOfAgent, async () => {
      const { thread_id } = await threads.create();
      return async () => {
        const values = await runs.wait(thread_id, "agent", { input, context: { mode: "free_work" } });
        expect(JSON.stringify(values)).toContain("It is 42.");
      };
    });
    expect(ofAgent.length, ofAgent.join("\n")).toBeLessThanOrEqual(maxOfAgent);
  });

  it("of a copy are three for each state, also beside other servers", async () => {
    const database = (await server?.create()) ?? "";
    const [served, other] = [await startTestServer({ database }), await startTestServer({ database })];
    close.push(
      () => served.remove(),
      () => other.remove(),
    );
    const { threads, runs } = served.client;
    const { thread_id } = await threads.create();
    for (let run = 0; run < 6; run += 1) await runs.wait(thread_id, "counter", { input: { value: 1 } });
    const states = await threads.getHistory(thread_id, { limit: 100 });
    // The rest reads the thread, and makes the session of the copy.
    const most = maxOfCopy.state * states.length + maxOfCopy.rest;
    const statements = await fewest(most, async () => () => threads.copy(thread_id));
    expect(statements.length, statements.join("\n")).toBeLessThanOrEqual(most);
  });
});
