import { join } from "node:path";
import OpenAI, { APIUserAbortError } from "openai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let model: ModelServer;
let server: TestServer;
let client: OpenAI;
beforeEach(async () => {
  model = await startModelServer({ script: [] });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "unused", maxRetries: 0 });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

type Messages = OpenAI.ChatCompletionMessageParam[];

const under = (key: string) => ({ headers: { "Idempotency-Key": key } });
const weather = { type: "function" as const, function: { name: "get_weather", parameters: { type: "object" } } };

/** Sends a conversation; returns the answer, and the conversation with it. */
async function chat(messages: Messages, options: OpenAI.RequestOptions = {}) {
  const answer = await client.chat.completions.create({ model: "agent", messages, tools: [weather] }, options);
  const [choice] = answer.choices;
  if (choice === undefined) throw new Error("no answer came");
  return { answer, history: [...messages, choice.message] };
}

const callFor = (id: string) => ({ toolCalls: [{ name: "get_weather", arguments: { city: id }, id }] });
const result = (id: string) => ({ role: "tool" as const, tool_call_id: id, content: `It snows in ${id}.` });

async function runCounts(): Promise<number[]> {
  const threads = await server.client.threads.search();
  return await Promise.all(threads.map(async ({ thread_id }) => (await server.client.runs.list(thread_id)).length));
}

describe("an answer in an unnamed thread that is repeated with its key", () => {
  it("finds its run during the run and after it", async () => {
    const held = Promise.withResolvers<void>();
    model.push(callFor("Oslo"), { text: "Take a coat.", hold: { after: 1, until: held.promise } });
    const { history } = await chat([{ role: "user", content: "How is the weather in Oslo?" }]);
    const answered = [...history, result("Oslo")];
    const cut = new AbortController();
    const first = chat(answered, { ...under("k-1"), signal: cut.signal }).catch((error: unknown) => error);
    await expect.poll(() => model.requests.length).toBe(2);
    cut.abort();
    expect(await first).toBeInstanceOf(APIUserAbortError);
    const again = chat(answered, under("k-1"));
    held.resolve();
    expect((await again).answer.choices[0]?.message.content).toBe("Take a coat.");
    expect((await chat(answered, under("k-1"))).answer).toEqual((await again).answer);
    expect([model.requests.length, await runCounts()]).toEqual([2, [2]]);
  });

  it("finds its run although another call waits since then, which is answered with another key", async () => {
    model.push(callFor("Oslo"), callFor("Rome"), { text: "Stay at home." });
    const first = await chat([{ role: "user", content: "How is the weather in Oslo, and in Rome?" }]);
    const second = await chat([...first.history, result("Oslo")], under("k-1"));
    expect((await chat([...first.history, result("Oslo")], under("k-1"))).answer).toEqual(second.answer);
    const third = await chat([...second.history, result("Rome")], under("k-2"));
    expect(third.answer.choices[0]?.message.content).toBe("Stay at home.");
    for (const [before, answer, key] of [
      [first, "Oslo", "k-1"],
      [second, "Rome", "k-2"],
    ] as const) {
      const repeated = await chat([...before.history, result(answer)], under(key));
      expect(repeated.answer).toEqual((key === "k-1" ? second : third).answer);
    }
    expect([model.requests.length, await runCounts()]).toEqual([3, [3]]);
  });

  it("does not go to another thread that waits after the same words", async () => {
    model.push(callFor("Oslo"), callFor("Oslo"), { text: "Take a coat." });
    const { history } = await chat([{ role: "user", content: "How is the weather in Oslo?" }]);
    await chat([{ role: "user", content: "How is the weather in Oslo?" }]);
    const answered = [...history, result("Oslo")];
    const first = await chat(answered, under("k-1"));
    expect((await chat(answered, under("k-1"))).answer).toEqual(first.answer);
    expect(model.requests).toHaveLength(3);
  });

  it("does not go to a thread that waits after the same words since then", async () => {
    const question = { role: "user" as const, content: "How is the weather in Oslo?" };
    const call = { id: "Oslo", type: "function" as const, function: { name: "get_weather", arguments: "{}" } };
    const answered = [question, { role: "assistant" as const, content: "", tool_calls: [call] }, result("Oslo")];
    model.push({ text: "Take a coat." }, callFor("Oslo"));
    const first = await chat(answered, under("k-1"));
    await chat([question]);
    expect((await chat(answered, under("k-1"))).answer).toEqual(first.answer);
    expect(model.requests).toHaveLength(2);
  });

  it("finds its run behind any number of later runs of the thread", async () => {
    model.push(callFor("Oslo"), { text: "Take a coat." });
    const { history } = await chat([{ role: "user", content: "How is the weather in Oslo?" }]);
    const first = await chat([...history, result("Oslo")], under("k-1"));
    const [thread] = await server.client.threads.search();
    for (let count = 0; count < 25; count += 1) {
      const later = { input: { messages: [] }, afterSeconds: 3600, multitaskStrategy: "enqueue" as const };
      await server.client.runs.create(thread?.thread_id ?? "", "agent", later);
    }
    expect((await chat([...history, result("Oslo")], under("k-1"))).answer).toEqual(first.answer);
    expect([model.requests.length, await server.client.threads.count()]).toEqual([2, 1]);
  });

  it("is refused if the body is another one", async () => {
    model.push(callFor("Oslo"), { text: "Take a coat." });
    const { history } = await chat([{ role: "user", content: "How is the weather in Oslo?" }]);
    await chat([...history, result("Oslo")], under("k-1"));
    const other = chat([...history, { ...result("Oslo"), content: "It rains." }], under("k-1"));
    await expect(other).rejects.toMatchObject({ status: 422 });
    expect(await runCounts()).toEqual([2]);
  });
});
