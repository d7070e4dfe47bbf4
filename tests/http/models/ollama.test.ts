import { afterAll, beforeAll, expect, it } from "vitest";
import { eventsOf } from "@millrace/testing/read-events";
import { OllamaServer } from "@millrace/testing/ollama-server";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

const ollama = new OllamaServer();
let fixture: SessionFixture;
let json: SessionFixture["json"];
beforeAll(async () => {
  ollama.models = [
    {
      name: "qwen2.5:7b",
      size: 4_683_087_332,
      digest: "d1",
      modified_at: "2026-01-02T03:04:05Z",
      details: { parameter_size: "7.6B", quantization_level: "Q4_K_M" },
      show: { model_info: { "qwen2.context_length": 32_768 }, capabilities: ["completion", "tools"] },
      running: { context_length: 32_768 },
    },
    {
      name: "tiny:1b",
      size: 1_000_000_000,
      digest: "d2",
      details: { parameter_size: "1.2B" },
      show: { model_info: { "llama.context_length": 16_384 }, capabilities: ["completion", "tools", "vision"] },
    },
  ];
  await ollama.start();
  fixture = await startSessions({ ollamaBaseUrl: ollama.url });
  json = async (...request) => await fixture.json(...request);
});
afterAll(async () => {
  await fixture.close();
  await ollama.stop();
});

const inChinese = { "accept-language": "zh-CN" };
const jsonWith = async (path: string, headers = {}): Promise<unknown> =>
  await (await fixture.server.send("GET", path, undefined, headers)).json();

it("the models of a running Ollama can be chosen from the start, and used", async () => {
  // The server does not wait for its check at the start; this request does.
  expect(await json("GET", "/ollama")).toEqual({
    status: "RUNNING",
    version: "0.12.9",
    address: ollama.url,
    message: "Ollama is running.",
    suggestion: null,
    detail: null,
    models: 2,
    checked_at: expect.stringMatching(/^20\d\d-/u),
    reconnect_attempt: null,
  });
  expect(await json("GET", "/models")).toMatchObject({
    models: expect.arrayContaining([
      expect.objectContaining({
        name: "ollama:tiny:1b",
        has_what_it_needs: true,
        profile: expect.objectContaining({ context: 16_384, vision: true, tool_calls: "native" }),
      }),
    ]),
  });
  ollama.answers(() => ({ text: "I am small." }));
  const { thread_id } = await fixture.server.client.threads.create();
  const say = async (model: string): Promise<void> => {
    const input = { messages: [{ role: "user", content: "Who are you?" }] };
    await fixture.server.client.runs.wait(thread_id, "agent", { input, context: { mode: "reply", model } });
  };
  await say("ollama:tiny:1b");
  expect((await fixture.messages(thread_id)).at(-1)).toMatchObject({ content: "I am small." });
  expect(ollama.chats.at(-1)).toMatchObject({ model: "tiny:1b", options: { num_ctx: 16_384 } });
  // Another one from the next call on; the user's settings override the service's.
  await json("PATCH", "/models/ollama:qwen2.5:7b", { context: 12_288 });
  await say("ollama:qwen2.5:7b");
  expect(ollama.chats.at(-1)).toMatchObject({ model: "qwen2.5:7b", options: { num_ctx: 12_288 } });
});

it("installed models, one model, loaded models and recommended models are listed", async () => {
  expect(await json("GET", "/ollama/models")).toMatchObject({
    status: "RUNNING",
    models: [
      {
        name: "qwen2.5:7b",
        model: "ollama:qwen2.5:7b",
        title: "qwen2.5:7b (7.6B, 4.7 GB)",
        size: 4_683_087_332,
        parameter_size: "7.6B",
        quantization: "Q4_K_M",
        modified_at: "2026-01-02T03:04:05Z",
        context_length: 32_768,
        supports_vision: false,
        supports_tools: true,
      },
      { name: "tiny:1b", title: "tiny:1b (1.2B, 1.0 GB)" },
    ],
  });
  expect(await json("GET", "/ollama/models/tiny%3A1b")).toMatchObject({
    title: "tiny:1b (1.2B, 1.0 GB)",
    context_length: 16_384,
    window: 16_384,
    capabilities: ["completion", "tools", "vision"],
  });
  const missing = await fixture.ask("GET", "/ollama/models/none");
  expect(missing).toEqual([404, expect.stringContaining("`ollama pull none`")]);
  expect(await json("GET", "/ollama/running")).toEqual({
    status: "RUNNING",
    models: [{ name: "qwen2.5:7b", size: 0, size_vram: 0, context_length: 32_768, expires_at: null }],
  });
  expect(await jsonWith("/ollama/recommended", inChinese)).toMatchObject([
    {
      name: "qwen2.5:7b",
      is_installed: true,
      about: expect.stringContaining("通义千问"),
      command: "ollama pull qwen2.5:7b",
    },
    { name: "qwen2.5:14b", is_installed: false },
    { name: "deepseek-coder:6.7b" },
    { name: "llama3.1:8b", model: "ollama:llama3.1:8b" },
    { name: "mistral:7b" },
  ]);
});

it("a subscriber receives a new model, the loss of the service, and its return", async () => {
  await json("GET", "/ollama");
  const stream = await fixture.server.send("GET", "/ollama/stream");
  const events = eventsOf(stream)[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => (await events.next()).value;
  expect(await next()).toMatchObject({ event: "ollama_status", data: { status: "RUNNING", version: "0.12.9" } });
  expect(await next()).toMatchObject({ event: "ollama_models", data: { models: ["qwen2.5:7b", "tiny:1b"] } });
  const models = [...ollama.models];
  ollama.models = [...models, { name: "new:3b", digest: "d3" }];
  await json("GET", "/ollama/models");
  expect(await next()).toMatchObject({ event: "ollama_models", data: { added: ["new:3b"], removed: [] } });
  await ollama.stop();
  // No status request: a request to one of its models detects it.
  const { thread_id } = await fixture.server.client.threads.create();
  const input = { messages: [{ role: "user", content: "Hello?" }] };
  const context = { mode: "reply", model: "ollama:tiny:1b", limits: { agentic_connection_retries: 0 } };
  const run = await fixture.server.client.runs.create(thread_id, "agent", { input, context });
  expect(await next()).toMatchObject({
    event: "ollama_status",
    data: { type: "ollama_status", former: "RUNNING", status: expect.stringMatching(/^NOT_/u), version: null },
  });
  await fixture.server.client.runs.join(thread_id, run.run_id);
  const gone = await jsonWith("/ollama", inChinese);
  expect(gone).toMatchObject({ models: 3, reconnect_attempt: 1, suggestion: expect.stringMatching(/ollama/u) });
  expect(JSON.stringify(gone)).toMatch(/"message":"[^"]*(?:未启动|未安装)/u);
  expect(await json("GET", "/ollama/models")).toMatchObject({ status: expect.stringMatching(/^NOT_/u) });
  expect(await json("GET", "/ollama/running")).toMatchObject({ models: [] });
  expect(await json("GET", "/ollama/models/tiny:1b")).toMatchObject({ context_length: 16_384, capabilities: null });
  const unknown = await fixture.ask("GET", "/ollama/models/none");
  expect(unknown).toEqual([404, expect.stringContaining("`ollama serve`")]);
  ollama.models = models;
  await ollama.start();
  await json("GET", "/ollama");
  const back = [await next(), await next()];
  expect(back).toContainEqual(
    expect.objectContaining({ event: "ollama_status", data: expect.objectContaining({ status: "RUNNING" }) }),
  );
  expect(back).toContainEqual(
    expect.objectContaining({ event: "ollama_models", data: expect.objectContaining({ removed: ["new:3b"] }) }),
  );
  await events.return?.(undefined);
});

it("another address is another service from then on, with other models", async () => {
  const other = await new OllamaServer().start();
  try {
    other.models = [{ name: "elsewhere:7b", digest: "e1" }];
    other.version = "0.13.0";
    await json("PUT", "/providers/ollama", { base_url: other.url });
    expect(await json("GET", "/ollama")).toMatchObject({ address: other.url, version: "0.13.0", models: 1 });
    const names = JSON.stringify(await json("GET", "/models"));
    expect(names).toContain("ollama:elsewhere:7b");
    expect(names).not.toContain("ollama:tiny:1b");
    expect((await fixture.ask("DELETE", "/providers/ollama"))[0]).toBe(204);
    expect(await json("GET", "/ollama")).toMatchObject({ address: ollama.url, models: 2 });
  } finally {
    await other.stop();
  }
});

it("a failed run says what to do, in the reader's language", async () => {
  const missing = "model 'tiny:1b' not found";
  ollama.answers(() => ({ fault: { kind: "status", status: 404, message: missing } }));
  const fail = async (language: string): Promise<unknown> => {
    const { thread_id } = await fixture.server.client.threads.create();
    const body = {
      assistant_id: "agent",
      input: { messages: [{ role: "user", content: "Hello?" }] },
      context: { mode: "reply", model: "ollama:tiny:1b" },
    };
    const path = `/threads/${thread_id}/runs/wait`;
    const answer = await fixture.server.send("POST", path, body, { "accept-language": language });
    return ((await answer.json()) as { __error__: unknown }).__error__;
  };
  const english = await fail("en");
  expect(english).toMatchObject({ error: "not_found", suggestion: "Pull the model with `ollama pull tiny:1b`." });
  expect(english).toHaveProperty("user_message", expect.stringContaining("`ollama pull tiny:1b`"));
  expect(english).not.toHaveProperty("advice");
  expect(await fail("zh")).toMatchObject({
    suggestion: "请运行 `ollama pull tiny:1b` 安装模型。",
    user_message: "找不到所请求的内容。请运行 `ollama pull tiny:1b` 安装模型。",
  });
});

it("a test of a model that is not installed says how to install it, in the reader's language", async () => {
  const path = "/models/ollama:none%3A7b/test";
  const test = async (language: string): Promise<unknown> =>
    await (await fixture.server.send("POST", path, {}, { "accept-language": language })).json();
  expect(await test("en")).toMatchObject({ ok: false, suggestion: "Pull the model with `ollama pull none:7b`." });
  expect(await test("zh")).toMatchObject({ ok: false, suggestion: "请运行 `ollama pull none:7b` 安装模型。" });
});
