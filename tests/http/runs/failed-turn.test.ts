import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
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
  const graphs = join(projectFolder, "langgraph.json");
  server = await startTestServer({ graphs, openai, model: "openai:scripted" });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

const State = z.looseObject({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });
const refuses: ModelStep = { fault: { kind: "status", status: 401, message: "bad key" } };

const cases: { name: string; context: Record<string, unknown>; script: ModelStep[]; types: string[] }[] = [
  { name: "a reply", context: { mode: "reply" }, script: [refuses], types: ["human"] },
  { name: "free work", context: { mode: "free_work" }, script: [refuses], types: ["human"] },
  { name: "a plan", context: { mode: "plan" }, script: [refuses], types: ["human"] },
];

it.each(cases)(
  "a permanent model error at the first call of $name ends the run with an error, and the session goes on",
  async ({ context, script, types }) => {
    const { client } = server;
    const { thread_id: id } = await client.threads.create();
    const stream = async (content: string, more: Record<string, unknown>) => {
      const events: { event: string; data: unknown }[] = [];
      const input = { messages: [{ role: "user", content }] };
      for await (const { event, data } of client.runs.stream(id, "agent", {
        input,
        context: more,
        streamMode: ["values", "custom"],
        streamSubgraphs: true,
      })) {
        events.push({ event, data });
      }
      return events;
    };
    model.push(...script);
    const events = await stream("Compare what the two files say about it", context);
    expect(events.filter(({ event }) => event === "error")).toEqual([
      { event: "error", data: expect.objectContaining({ error: "auth", message: expect.any(String) }) },
    ]);
    const [run] = await client.runs.list(id);
    expect(run?.status).toBe("error");
    expect((await client.threads.get(id)).status).toBe("error");
    const before = State.parse((await client.threads.getState(id)).values).messages;
    expect(before.map(({ type }) => type)).toEqual(types);

    // The scripted model refuses the histories that a strict provider refuses.
    model.push({ text: "Here I am." });
    const next = await stream("Are you there now?", { mode: "reply" });
    expect(next.filter(({ event }) => event === "error")).toEqual([]);
    const after = State.parse((await client.threads.getState(id)).values).messages;
    expect(after.map(({ type }) => type)).toEqual([...types, "human", "ai"]);
    expect(after.at(-1)?.content).toBe("Here I am.");
    expect((await client.threads.get(id)).status).toBe("idle");
    model.assertFinished();
  },
);
