import { join } from "node:path";
import OpenAI, { APIConnectionError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let model: ModelServer;
let server: TestServer;
let client: OpenAI;
let bob: OpenAI;
beforeAll(async () => {
  model = await startModelServer({ script: [] });
  const keys = [
    { owner: "ada", key: "key-of-ada" },
    { owner: "bob", key: "key-of-bob" },
  ];
  const openai = { apiKey: "test-key", baseUrl: model.url };
  const graphs = join(projectFolder, "langgraph.json");
  server = await startTestServer({ graphs, model: "openai:scripted", openai, apiKeys: keys, maxRequests: 3 });
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "key-of-ada", maxRetries: 0 });
  bob = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "key-of-bob", maxRetries: 0 });
});
afterAll(async () => {
  await server.remove();
  await model.close();
});

type Event = OpenAI.Responses.ResponseStreamEvent;

async function all(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const ask = (input: string, more: object = {}) => ({ model: "agent", input, ...more });

describe("/v1/responses", () => {
  it("answers without streaming, continues from the last response, and can be retrieved", async () => {
    model.push({ text: "Good morning.", usage: { input: 12, output: 5 } }, { text: "As I said." });
    const first = await client.responses.create(ask("Hello", { metadata: { note: "kept" } }));
    expect(first).toMatchObject({
      object: "response",
      status: "completed",
      output_text: "Good morning.",
      usage: { input_tokens: 12, output_tokens: 5, total_tokens: 17 },
      metadata: { note: "kept" },
    });
    const second = await client.responses.create(ask("Good evening", { previous_response_id: first.id }));
    expect(second.output_text).toBe("As I said.");
    expect(model.requests.at(-1)?.messages.map(({ content }) => content)).toEqual(
      expect.arrayContaining([expect.stringContaining("Hello"), "Good morning."]),
    );
    expect(await client.responses.retrieve(first.id)).toEqual(first);
    const again = client.responses.create(ask("Good night", { previous_response_id: first.id }));
    await expect(again).rejects.toMatchObject({ status: 400, code: "previous_response_not_last" });
  });

  it("streams every event with its sequence number, and again from a number on", async () => {
    model.push({ text: "Good morning to you.", reasoning: "They greet." });
    const events = await all(await client.responses.create({ ...ask("Hello"), stream: true }));
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    const types = events.map(({ type }) => type);
    expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.reasoning_summary_part.added",
      "response.reasoning_summary_text.delta",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const [created] = events;
    const id = created?.type === "response.created" ? created.response.id : "";
    for (const starting_after of [5, 12]) {
      const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after }));
      expect(rest).toEqual(events.slice(starting_after + 1));
    }
  });

  it("works in the background, is streamed after a cut connection, and is cancelled", async () => {
    const held = Promise.withResolvers<void>();
    model.push({ text: "Good morning to you.", hold: { after: 2, until: held.promise } });
    const stream = await client.responses.create({ ...ask("Hello"), background: true, stream: true });
    const seen: Event[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (event.type === "response.output_text.delta") break;
    }
    const [created] = seen;
    const id = created?.type === "response.created" ? created.response.id : "";
    expect(await client.responses.retrieve(id)).toMatchObject({ status: "in_progress" });
    held.resolve();
    const starting_after = seen.at(-1)?.sequence_number ?? 0;
    const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after }));
    expect(rest.at(-1)).toMatchObject({
      type: "response.completed",
      response: { output_text: "Good morning to you." },
    });
    expect(rest[0]?.sequence_number).toBe(starting_after + 1);

    const never = Promise.withResolvers<void>();
    model.push({ text: "Never said.", hold: { after: 0, until: never.promise } });
    const before = model.requests.length;
    const { id: other } = await client.responses.create(ask("Hello", { background: true }));
    // Before that, the model's reply would be left for the next request.
    await expect.poll(() => model.requests.length).toBe(before + 1);
    expect(await client.responses.cancel(other)).toMatchObject({ id: other, status: "cancelled" });
    never.resolve();
  });

  it("returns a call and takes its output", async () => {
    const tool = {
      type: "function" as const,
      name: "get_weather",
      strict: null,
      parameters: { type: "object", properties: { city: { type: "string" } } },
    };
    model.push({ toolCalls: [{ name: "get_weather", arguments: { city: "Oslo" } }] }, { text: "Take a coat." });
    const first = await client.responses.create(ask("How is the weather?", { tools: [tool] }));
    const call = first.output.find(({ type }) => type === "function_call");
    expect(call).toMatchObject({ name: "get_weather", arguments: '{"city":"Oslo"}' });
    const call_id = call?.type === "function_call" ? call.call_id : "";
    const second = await client.responses.create({
      model: "agent",
      input: [{ type: "function_call_output", call_id, output: "It snows." }],
      previous_response_id: first.id,
    });
    expect(second.output_text).toBe("Take a coat.");
  });

  it("cannot be retrieved if it is not stored, or after it was deleted", async () => {
    model.push({ text: "Gone." }, { text: "Kept." });
    const gone = await client.responses.create(ask("Hello", { store: false }));
    await expect(client.responses.retrieve(gone.id)).rejects.toMatchObject({ status: 404 });
    const kept = await client.responses.create(ask("Hello"));
    await client.responses.delete(kept.id);
    await expect(client.responses.retrieve(kept.id)).rejects.toMatchObject({ status: 404, code: "response_not_found" });
  });

  it("belongs to its owner, and needs a key", async () => {
    model.push({ text: "Mine." });
    const { id } = await client.responses.create(ask("Hello"));
    const gone = { status: 404, code: "response_not_found" };
    await expect(bob.responses.retrieve(id)).rejects.toMatchObject(gone);
    await expect(bob.responses.cancel(id)).rejects.toMatchObject(gone);
    await expect(bob.responses.delete(id)).rejects.toMatchObject(gone);
    const next = bob.responses.create(ask("Hello", { previous_response_id: id }));
    await expect(next).rejects.toMatchObject({ status: 404, code: "previous_response_not_found" });
    const refused = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "wrong", maxRetries: 0 });
    await expect(refused.models.list()).rejects.toMatchObject({ status: 401, type: "authentication_error" });
  });

  it("answers 429 if the queue is full", async () => {
    const held = Promise.withResolvers<void>();
    model.push(...[1, 2, 3].map(() => ({ text: "Hello.", hold: { after: 0, until: held.promise } })));
    const streams = [];
    for (let count = 0; count < 3; count += 1) {
      streams.push(await client.responses.create({ ...ask("Hello"), stream: true }));
    }
    const refused: unknown = await client.responses.create(ask("Hello")).catch((error: unknown) => error);
    held.resolve();
    for (const stream of streams) await all(stream);
    expect(refused).toMatchObject({ status: 429, type: "rate_limit_error" });
  });

  it("finds its run again by its key after the connection broke", async () => {
    const held = Promise.withResolvers<void>();
    model.push({ text: "Once.", hold: { after: 0, until: held.promise } });
    const before = model.requests.length;
    const options = { headers: { "Idempotency-Key": crypto.randomUUID() } };
    const cut = client.responses.create(ask("Hello"), { ...options, timeout: 300 });
    await expect(cut).rejects.toBeInstanceOf(APIConnectionError);
    held.resolve();
    expect((await client.responses.create(ask("Hello"), options)).output_text).toBe("Once.");
    expect(model.requests.length - before).toBe(1);
  });

  it("finds its run by its key after the conversation has gone on, which no other key may do from the same place", async () => {
    model.push({ text: "One." }, { text: "Two." }, { text: "Three." });
    const under = (key: string) => ({ headers: { "Idempotency-Key": key } });
    const first = await client.responses.create(ask("Hello"));
    const next = ask("Good evening", { previous_response_id: first.id });
    const second = await client.responses.create(next, under("k-1"));
    const other = client.responses.create(next, under("k-2"));
    await expect(other).rejects.toMatchObject({ status: 400, code: "previous_response_not_last" });
    await client.responses.create(ask("Good night", { previous_response_id: second.id }));
    expect(await client.responses.create(next, under("k-1"))).toEqual(second);
  });
});
