import { afterEach, expect, it } from "vitest";
import { startModelServer, wireText, type ModelServer, type ModelServerOptions } from "@millrace/testing/model-server";

const servers: ModelServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

async function serve(options: ModelServerOptions): Promise<ModelServer> {
  const server = await startModelServer(options);
  servers.push(server);
  return server;
}

async function post(server: ModelServer, messages: object[], more: object = {}): Promise<Response> {
  return await fetch(`${server.url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "scripted", messages, ...more }),
  });
}

const hello = [{ role: "user", content: "hello" }];

it("answers the script in its order, then the handler, and records what it was asked", async () => {
  const server = await serve({
    script: [{ text: "one" }],
    handler: (request) => ({ text: `you said ${wireText(request.messages[0] ?? { role: "" })}` }),
  });
  expect(await (await post(server, hello)).json()).toMatchObject({ choices: [{ message: { content: "one" } }] });
  expect(await (await post(server, hello)).json()).toMatchObject({
    choices: [{ message: { content: "you said hello" } }],
  });
  expect(server.requests.map((request) => [request.index, request.protocol])).toEqual([
    [0, "openai"],
    [1, "openai"],
  ]);
  server.assertFinished();
});

it("never uses an id twice", async () => {
  const call = { toolCalls: [{ name: "a", arguments: {} }] };
  const server = await serve({ script: [call, call] });
  const answers = [await (await post(server, hello)).text(), await (await post(server, hello)).text()];
  const ids = answers.flatMap((answer) => answer.match(/"id":"[^"]+"/gu) ?? []);
  expect(new Set(ids).size).toBe(4);
});

it("reports steps without a request", async () => {
  const server = await serve({ script: [{ text: "one" }] });
  expect(() => server.assertFinished()).toThrow("1 scripted step(s)");
});

it("answers a request without a step with an error, and reports it", async () => {
  const server = await serve({});
  expect((await post(server, hello)).status).toBe(500);
  expect((await fetch(`${server.ollamaUrl}/nowhere`)).status).toBe(500);
  expect((await post(server, [])).status).toBe(500);
  expect(() => server.assertFinished()).toThrow(/was not scripted.*not served here.*not a chat request/su);
});

const calling = {
  role: "assistant",
  content: "",
  tool_calls: [{ id: "c1", type: "function", function: { name: "a", arguments: "{}" } }],
};
const result = { role: "tool", tool_call_id: "c1", content: "ok" };

it.each([
  ["a call without a result", [...hello, calling]],
  ["a message between a call and its result", [...hello, calling, ...hello, result]],
  ["a result without a call", [...hello, result]],
  ["two results of one call", [...hello, calling, result, result]],
])("refuses %s, as a strict provider does", async (_name, messages) => {
  const server = await serve({ script: [{ text: "one" }] });
  expect((await post(server, messages)).status).toBe(400);
  expect(() => server.assertFinished()).toThrow("strict provider");
});

it("accepts a call with its result", async () => {
  const server = await serve({ script: [{ text: "one" }] });
  expect((await post(server, [...hello, calling, result])).status).toBe(200);
  server.assertFinished();
});

it("holds a stream where the step says so, until it is let go", async () => {
  const gate = Promise.withResolvers<undefined>();
  const server = await serve({ script: [{ text: "one two three", hold: { after: 2, until: gate.promise } }] });
  const response = await post(server, hello, { stream: true });
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes('" two"') && !text.includes('" three"')) gate.resolve(undefined);
  }
  expect(text).toContain('" three"');
  expect(text.trimEnd().endsWith("data: [DONE]")).toBe(true);
});

it("lists its models in both forms", async () => {
  const server = await serve({ models: ["small"] });
  expect(await (await fetch(`${server.ollamaUrl}/api/tags`)).json()).toEqual({
    models: [{ name: "small", model: "small" }],
  });
  expect(await (await fetch(`${server.url}/models`)).json()).toMatchObject({ data: [{ id: "small" }] });
});

it("closes with a request that hangs", async () => {
  const server = await serve({ script: [{ fault: { kind: "hang" } }] });
  const pending = post(server, hello).catch(() => "broken");
  while (server.requestCount === 0) await new Promise((resolve) => setImmediate(resolve));
  await server.close();
  expect(await pending).toBe("broken");
});
