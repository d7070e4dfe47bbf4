import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { startPostgres } from "../../../support/processes/postgres.ts";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** What PostgreSQL cannot store in a text: a NUL and half of a surrogate pair. Behind them what only looks like one. */
const text = "a\0b \ud800 \u{1f600} \\u0000";

/** Repeats the last message in a stream of letters, in an event of its own and in its state. */
const graph = `
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
export const echo = new StateGraph(new StateSchema({ messages: MessagesValue, said: z.record(z.string(), z.string()) }))
  .addNode("repeat", async ({ messages }, config) => {
    const { text } = messages.at(-1);
    config.writer?.({ [text]: text });
    const answer = await new FakeListChatModel({ responses: [text] }).invoke(messages);
    return { messages: [answer], said: { [text]: text } };
  })
  .addEdge(START, "repeat")
  .compile();
`;

describe.skipIf(postgres === undefined)("a run with characters that PostgreSQL cannot store in a text", () => {
  let folder: string;
  let server: TestServer;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-"));
    await writeFile(join(folder, "graph.mjs"), graph);
    await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs: { echo: "./graph.mjs:echo" } }));
    server = await startTestServer({ database: await postgres?.create(), graphs: join(folder, "langgraph.json") });
  });
  afterEach(async () => {
    await server.remove();
    await rm(folder, { recursive: true, force: true });
  });

  it("has them in its result, its state and its stream, also after a restart of the server", async () => {
    const said = { [text]: text };
    const { thread_id } = await server.client.threads.create({ metadata: said });
    const message = { content: text, name: text, id: text };
    const { run_id } = await server.client.runs.create(thread_id, "echo", {
      input: { messages: [{ role: "user", ...message }] },
      metadata: said,
      context: said,
      streamMode: ["values", "custom", "messages-tuple"],
      streamResumable: true,
    });
    const values = {
      messages: [
        { type: "human", ...message },
        { type: "ai", content: text },
      ],
      said,
    };
    const check = async ({ client }: TestServer): Promise<void> => {
      expect(await client.runs.join(thread_id, run_id)).toMatchObject(values);
      expect(await client.threads.getState(thread_id)).toMatchObject({ values });
      expect(await client.threads.search({ metadata: said })).toMatchObject([{ thread_id, metadata: said, values }]);
      expect(await client.runs.get(thread_id, run_id)).toMatchObject({ metadata: said, kwargs: { context: said } });
      const events = await Array.fromAsync(client.runs.joinStream(thread_id, run_id, { lastEventId: "-1" }));
      expect(events.filter(({ event }) => event === "custom")).toMatchObject([{ data: said }]);
      expect(events.findLast(({ event }) => event === "values")).toMatchObject({ data: values });
      const letters = events.flatMap(({ event, data }) =>
        event === "messages" ? z.array(z.object({ content: z.string() })).parse(data.slice(0, 1)) : [],
      );
      expect(letters.map(({ content }) => content).join("")).toBe(text);
    };
    await check(server);
    await server.close();
    server = await server.restart();
    await check(server);
  });
});
