import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { eventsOf } from "@millrace/testing/read-events";
import { projectFolder } from "../support/source-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer | undefined;
let model: ModelServer | undefined;
afterEach(async () => {
  await server?.remove();
  await model?.close();
});

async function start(...script: ModelStep[]): Promise<TestServer> {
  model = await startModelServer({ script });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  const graphs = join(projectFolder, "langgraph.json");
  server = await startTestServer({ graphs, openai, model: "openai:scripted" });
  return server;
}

const Chunk = z.tuple([z.looseObject({ type: z.string(), content: z.string(), id: z.string() }), z.looseObject({})]);
const State = z.looseObject({
  messages: z.array(
    z.looseObject({ id: z.string(), content: z.string(), additional_kwargs: z.record(z.string(), z.unknown()) }),
  ),
});
const sentence = Array.from({ length: 30 }, (_, index) => `word${index}`).join(" ");
const input = (content: string) => ({ messages: [{ role: "user", content }] });

describe("a stop over HTTP", () => {
  it("keeps what the reader got over a restart, and the reply can be continued", async () => {
    let current = await start({
      text: `${sentence} and more`,
      hold: { after: 30, until: new Promise(() => undefined) },
    });
    const { thread_id: id } = await current.client.threads.create();
    const response = await current.send("POST", `/threads/${id}/runs/stream`, {
      assistant_id: "agent",
      input: input("tell me something, my friend"),
      stream_mode: ["messages-tuple", "custom"],
    });
    const chunks: z.infer<typeof Chunk>[0][] = [];
    const text = () => chunks.map(({ content }) => content).join("");
    let asked = false;
    const custom: unknown[] = [];
    for await (const { event, data } of eventsOf(response)) {
      if (event === "messages") chunks.push(Chunk.parse(data)[0]);
      if (event === "custom") custom.push(data);
      if (asked || text() !== sentence) continue;
      asked = true;
      const [run] = await current.client.runs.list(id);
      await current.client.runs.cancel(id, run?.run_id ?? "");
    }
    const completed = { type: "stop_completed", partial: { content: sentence, is_stored: true } };
    expect(custom).toContainEqual(
      expect.objectContaining({ ...completed, partial: expect.objectContaining(completed.partial) }),
    );
    const kept = async () => State.parse((await current.client.threads.getState(id)).values).messages;
    const before = await kept();
    expect(before.map(({ content }) => content)).toEqual(["tell me something, my friend", sentence]);
    expect(before[1]?.id).toBe(chunks[0]?.id);
    expect((await current.client.threads.get(id)).status).toBe("idle");

    await current.close();
    server = current = await current.restart();
    expect(await kept()).toEqual(before);
    model?.push({ text: " and the end." });
    await current.client.runs.wait(id, "agent", { input: { messages: [] }, context: { partial: "continue" } });
    const after = await kept();
    expect(after.map(({ content }) => content)).toEqual([before[0]?.content, `${sentence} and the end.`]);
    expect(after[1]).toMatchObject({ id: before[1]?.id, additional_kwargs: { is_partial: false } });
  });

  it("removes a partial reply that is given anew, and the stopped run with all it kept", async () => {
    const current = await start({ text: sentence, hold: { after: 20, until: new Promise(() => undefined) } });
    const { thread_id: id } = await current.client.threads.create();
    for await (const { event, data } of current.client.runs.stream(id, "agent", {
      input: input("tell me something, my friend"),
      streamMode: ["messages-tuple"],
    })) {
      if (event !== "messages" || !Chunk.parse(data)[0].content.includes("word19")) continue;
      const [run] = await current.client.runs.list(id);
      await current.client.runs.cancel(id, run?.run_id ?? "");
    }
    model?.push({ text: "Something else." });
    await current.client.runs.wait(id, "agent", { input: { messages: [] }, context: { partial: "regenerate" } });
    const contents = async () =>
      State.parse((await current.client.threads.getState(id)).values).messages.map(({ content }) => content);
    expect(await contents()).toEqual(["tell me something, my friend", "Something else."]);
    expect(model?.unexpected).toEqual([]);
  });
});
