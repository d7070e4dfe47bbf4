import { join } from "node:path";
import { AIMessageChunk } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createArtifactReader } from "@millrace/engine/http/a2a/artifacts";
import type { RunEvent } from "@millrace/engine/run-events";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { runRecord } from "../../contract/records.ts";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

describe("a run that a restart interrupts in the middle of a reply", () => {
  let model: ModelServer;
  let server: TestServer;
  let client: OpenAI;
  let gate: PromiseWithResolvers<void>;
  beforeEach(async () => {
    gate = Promise.withResolvers();
    let asked = 0;
    model = await startModelServer({
      handler({ messages }) {
        const hasResult = messages.some(({ role }) => role === "tool");
        if (!hasResult) return { text: "I look.", toolCalls: [{ name: "list_files", arguments: { path: "" } }] };
        asked += 1;
        if (asked > 1) return { text: "Half an answer is none." };
        return { chunks: ["Half ", "an "], text: "Half an ", hold: { after: 2, until: gate.promise } };
      },
    });
    server = await startTestServer({
      graphs: join(projectFolder, "langgraph.json"),
      model: "openai:scripted",
      openai: { apiKey: "test-key", baseUrl: model.url },
      drainSeconds: 0.1,
    });
    client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  });
  afterEach(async () => {
    gate.resolve();
    await server.remove();
    await model.close();
  });

  const restart = async (): Promise<void> => {
    await server.close();
    server = await server.restart({ port: Number(new URL(server.url).port) });
  };

  it("is a response with the last attempt's text, and its stream marks the item that was cut off", async () => {
    const { id } = await client.responses.create({ model: "agent", input: "Hello", background: true });
    for await (const event of await client.responses.retrieve(id, { stream: true })) {
      if (event.type === "response.output_text.delta" && event.delta === "an ") break;
    }
    await restart();
    const items: unknown[] = [];
    let final: OpenAI.Responses.Response | undefined;
    for await (const event of await client.responses.retrieve(id, { stream: true })) {
      if (event.type === "response.output_item.done") items.push(event.item);
      if (event.type === "response.completed") final = event.response;
    }
    expect(items).toMatchObject([
      { status: "completed", content: [{ text: "I look." }] },
      { status: "incomplete", content: [{ text: "Half an " }] },
      { status: "completed", content: [{ text: "Half an answer is none." }] },
    ]);
    expect(final?.output).toEqual([items[0], items[2]]);
    const whole = await client.responses.retrieve(id);
    expect(whole.output).toEqual(final?.output);
    expect(whole.output_text).toBe("I look.Half an answer is none.");
  });

  it("is a chat completion with each text once, when it is requested again with its key", async () => {
    const body = { model: "agent", messages: [{ role: "user" as const, content: "Hello" }] };
    const thread = crypto.randomUUID();
    const again = { headers: { "Idempotency-Key": "one", "X-Thread-Id": thread } };
    const reader = await client.chat.completions.create({ ...body, stream: true }, again);
    for await (const { choices } of reader) if (choices[0]?.delta.content === "an ") break;
    await restart();
    const [run] = await server.client.runs.list(thread);
    await server.client.runs.join(thread, run?.run_id ?? "");
    let replayed = "";
    for await (const { choices } of await client.chat.completions.create({ ...body, stream: true }, again)) {
      replayed += choices[0]?.delta.content ?? "";
    }
    expect(replayed).toBe("I look.\n\nHalf an answer is none.");
  });

  const retrying = {
    "OpenAI's client of chat completions": (baseURL: string) =>
      new OpenAI({ baseURL, apiKey: "none" }).chat.completions.create({
        model: "agent",
        messages: [{ role: "user", content: "Hello" }],
      }),
    "OpenAI's client of responses": (baseURL: string) =>
      new OpenAI({ baseURL, apiKey: "none" }).responses.create({ model: "agent", input: "Hello" }),
    "LangChain's client": (baseURL: string) =>
      new ChatOpenAI({ model: "agent", apiKey: "none", configuration: { baseURL } }).invoke("Hello"),
  };

  it.each(Object.entries(retrying))("is not begun again by %s, which retries by itself", async (_name, ask) => {
    const failed = Promise.resolve(ask(`${server.url}/v1`)).catch((error: unknown) => error);
    await expect.poll(() => model.requests.length).toBe(2);
    await restart();
    expect(await failed).toMatchObject({ status: 400, type: "server_error" });
    const [thread, ...others] = await server.client.threads.search();
    const runs = await server.client.runs.list(thread?.thread_id ?? "");
    expect([runs.length, others]).toEqual([1, []]);
  });
});

it("an artifact that an attempt has begun is replaced by that of the next attempt", () => {
  const reader = createArtifactReader(runRecord("r", "s"), true);
  const begin = (attempt: number): RunEvent => ({ id: 0, event: "metadata", data: { run_id: "r", attempt } });
  const says = (id: string, content: string, task: string): RunEvent => ({
    id: 0,
    event: "messages",
    namespace: [],
    data: new AIMessageChunk({ id, content }),
    metadata: { langgraph_checkpoint_ns: task },
  });
  const events = [
    begin(1),
    says("done", "I look.", "talk:1"),
    says("first", "Half ", "talk:2"),
    begin(2),
    says("second", "Half an ", "talk:2"),
    says("second", "answer", "talk:2"),
  ];
  expect(events.map((event) => reader.read(event)).filter((piece) => piece !== undefined)).toMatchObject([
    { append: false, artifact: { artifactId: "done" } },
    { append: false, artifact: { artifactId: "first" } },
    { append: false, artifact: { artifactId: "first", parts: [{ content: { value: "Half an " } }] } },
    { append: true, artifact: { artifactId: "first", parts: [{ content: { value: "answer" } }] } },
  ]);
});
