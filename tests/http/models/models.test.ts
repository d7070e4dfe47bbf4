import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
let ask: SessionFixture["ask"];
let json: SessionFixture["json"];
beforeAll(async () => {
  fixture = await startSessions();
  ask = async (...request) => await fixture.ask(...request);
  json = async (...request) => await fixture.json(...request);
});
afterAll(() => fixture.close());

const file = (name: string): string => join(fixture.server.config.dataDir, name);
beforeEach(async () => {
  for (const name of ["models.yaml", "credentials.json"]) await rm(file(name), { force: true });
});

describe("/models", () => {
  it("adds a model for the next call, changes it, and removes it", async () => {
    expect(await json("POST", "/models", { name: "openai:mine", context: 9000, temperature: 0.25 })).toMatchObject({
      name: "openai:mine",
      provider: "openai",
      is_built_in: false,
      own: { context: 9000, temperature: 0.25 },
      profile: { context: 9000, output: 9000, temperature: 0.25, vision: false },
      roles: [],
      has_what_it_needs: true,
    });
    expect(await json("PATCH", "/models/openai:mine", { display_name: "Mine", price: null })).toMatchObject({
      own: { context: 9000, temperature: 0.25, display_name: "Mine", price: null },
    });
    expect(await json("PUT", "/models/roles", { main: "openai:mine" })).toMatchObject({
      roles: { main: "openai:mine" },
    });
    await fixture.talk("hello");
    expect(fixture.model.requests.at(-1)?.body).toMatchObject({ model: "mine", temperature: 0.25 });
    expect(await json("PUT", "/models/roles", {})).toMatchObject({ roles: { main: "openai:scripted" } });
    expect((await ask("DELETE", "/models/openai:mine"))[0]).toBe(204);
    expect((await ask("DELETE", "/models/openai:mine"))[0]).toBe(404);
    expect(await json("GET", "/models/openai:mine")).toMatchObject({ own: null, profile: { context: 128_000 } });
  });

  it("lists the built-in models, the user's own and those with a role, and the rules", async () => {
    await json("POST", "/models", { name: "siliconflow:Qwen/*", vision: true });
    await json("POST", "/models", { name: "siliconflow:Qwen/Qwen3-8B", output: 4000 });
    const list = await json("GET", "/models");
    expect(list).toMatchObject({
      rules: { "siliconflow:Qwen/*": { vision: true } },
      roles: { main: "openai:scripted" },
      problem: null,
    });
    expect(list).toHaveProperty(
      "models",
      expect.arrayContaining([
        expect.objectContaining({ name: "zhipu:glm-4.7", is_built_in: true, own: null, has_what_it_needs: false }),
        expect.objectContaining({ name: "openai:scripted", roles: ["main"] }),
        expect.objectContaining({
          name: "siliconflow:Qwen/Qwen3-8B",
          profile: expect.objectContaining({ vision: true, output: 4000 }),
        }),
      ]),
    );
    const encoded = encodeURIComponent("siliconflow:Qwen/Qwen3-8B");
    expect(await json("GET", `/models/${encoded}`)).toMatchObject({ name: "siliconflow:Qwen/Qwen3-8B" });
    expect(await json("PATCH", `/models/${encodeURIComponent("siliconflow:Qwen/*")}`, { vision: false })).toMatchObject(
      { rules: { "siliconflow:Qwen/*": { vision: false } } },
    );
  });

  it.each([
    ["POST", "/models", { name: "openai:x", context: -1 }, 400, "context"],
    ["POST", "/models", { name: "openai:x", contxt: 1 }, 400, "contxt"],
    ["POST", "/models", { name: "x" }, 400, "name: expected provider:name"],
    ["POST", "/models", { name: "nowhere:x" }, 400, 'name: "nowhere:x" names no known provider'],
    ["PATCH", "/models/openai:unknown", { vision: true }, 404, "Nothing is said of the model"],
    ["PATCH", "/models/zhipu:glm-4.7", {}, 400, "expected a field to change"],
    ["PUT", "/models/roles", { main: "nowhere:x" }, 400, 'main: "nowhere:x" names no known provider'],
    ["PUT", "/models/roles", { mian: "openai:x" }, 400, "mian"],
    ["PUT", "/providers/mine", {}, 400, "providers › mine: a provider of your own needs a base_url"],
    ["PUT", "/providers/mine", { base_url: "http://169.254.169.254/v1" }, 400, "base_url: link-local addresses"],
    ["PUT", "/providers/Mine", { base_url: "http://127.0.0.1:1" }, 400, "name: expected up to 32"],
    ["PUT", "/providers/openai", { kind: "openai-compatible" }, 400, "this provider is built in"],
    ["DELETE", "/providers/openai", undefined, 404, "There is no provider openai, or nothing is said of it"],
    ["PUT", "/providers/nowhere/key", { key: "a-key" }, 404, "There is no provider nowhere"],
    ["PUT", "/providers/ollama/key", { key: "a-key" }, 400, "The provider ollama has no key"],
    ["PUT", "/providers/zhipu/key", { key: "canary two words" }, 400, "key: expected up to 1000 visible"],
  ])("%s %s with %j: %i, naming the field", async (method, path, body, status, words) => {
    const english = await fixture.server.send(method, path, body, { accept: "application/json" });
    const text = await english.text();
    expect([english.status, text]).toEqual([status, expect.stringContaining(JSON.stringify(words).slice(1, -1))]);
    expect(text).not.toContain("canary");
    const headers = { accept: "application/json", "accept-language": "zh-CN" };
    const chinese = await fixture.server.send(method, path, body, headers);
    expect(await chinese.json()).toMatchObject({ user_message: expect.stringMatching(/\p{Script=Han}/u) });
  });

  it("adds no model twice, and does not overwrite an invalid file", async () => {
    await json("POST", "/models", { name: "openai:x" });
    expect((await ask("POST", "/models", { name: "openai:x" }))[0]).toBe(409);
    await writeFile(file("models.yaml"), "roles: [");
    expect(await ask("PUT", "/models/roles", { main: "openai:x" })).toEqual([409, expect.stringContaining("line 1")]);
    expect(await readFile(file("models.yaml"), "utf8")).toBe("roles: [");
    expect(await json("GET", "/models")).toMatchObject({ problem: expect.stringContaining("line 1") });
  });

  it("refuses to make the file longer than the server reads", async () => {
    await writeFile(file("models.yaml"), `# ${"x".repeat(512 * 1024 - 100)}\nroles: {}\n`);
    const display_name = "y".repeat(90);
    expect(await ask("POST", "/models", { name: "openai:x", display_name })).toEqual([
      413,
      expect.stringContaining("models.yaml would have more than"),
    ]);
    expect(await json("GET", "/models")).toMatchObject({ problem: null, rules: {} });
  });
});

it("the status of a thread has the model of its last run, else the server's", async () => {
  const { server } = fixture;
  const id = await fixture.talk();
  const path = `/threads/${id}/status`;
  await json("PATCH", "/models/openai:scripted", { display_name: "Ours" });
  expect(await json("GET", path)).toMatchObject({ model: { name: "openai:scripted", display_name: "Ours" } });
  const input = { messages: [{ role: "user", content: "hello" }] };
  await server.client.runs.wait(id, "agent", { input, context: { mode: "reply", model: "offline" } });
  expect(await json("GET", path)).toMatchObject({ model: { name: "offline", display_name: "Offline" } });
  await json("PUT", "/models/roles", { main: "openai:next" });
  expect(await json("GET", `/threads/${await fixture.talk()}/status`)).toMatchObject({
    model: { name: "openai:next", display_name: "next" },
  });
});

describe("/providers", () => {
  it("adds one with its key, which is sent to its address and is in no answer", async () => {
    const { model, server } = fixture;
    const setting = { title: "Mine", base_url: model.url, key: "MINE_API_KEY", timeout_seconds: 9 };
    expect(await json("PUT", "/providers/mine", setting)).toEqual({
      name: "mine",
      title: "Mine",
      is_built_in: false,
      base_url: model.url,
      is_local: true,
      needs_key: false,
      key: { name: "MINE_API_KEY", is_set: false, source: null, shown: null },
      timeout_seconds: 9,
      usual_model: null,
      llm_last_verified_at: null,
    });
    const key = "canary-of-mine-0123456789";
    const saved = await json("PUT", "/providers/mine/key", { key });
    expect(saved).toMatchObject({ key: { is_set: true, source: "file", shown: "…6789" } });
    expect((await stat(file("credentials.json"))).mode & 0o777).toBe(0o600);
    await json("PUT", "/models/roles", { main: "mine:some/model" });
    await fixture.talk("hello");
    expect(model.requests.at(-1)).toMatchObject({
      headers: { authorization: `Bearer ${key}` },
      body: { model: "some/model" },
    });
    expect(await ask("DELETE", "/providers/mine")).toEqual([
      409,
      expect.stringContaining("Models of mine have roles: main"),
    ]);
    await json("PUT", "/models/roles", {});
    const texts = await Promise.all(
      ["/providers", "/models", "/models/mine:x", "/openapi.json"].map(
        async (path) => await (await server.send("GET", path)).text(),
      ),
    );
    expect(texts.join("")).not.toContain(key);
    expect(await json("DELETE", "/providers/mine/key")).toMatchObject({ key: { is_set: false, source: null } });
    expect((await ask("DELETE", "/providers/mine"))[0]).toBe(204);
    expect(await readFile(file("models.yaml"), "utf8")).not.toContain("mine");
  });

  it("lists all, with the source of each key; removing a setting restores the built-in provider", async () => {
    await json("PUT", "/providers/zhipu", { base_url: "http://10.0.0.9/v1", timeout_seconds: 5 });
    expect(await json("GET", "/providers")).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: "offline", base_url: null, is_local: true, needs_key: false, key: null }),
        expect.objectContaining({
          name: "openai",
          needs_key: false,
          key: { name: "OPENAI_API_KEY", is_set: true, source: "environment", shown: "…" },
        }),
        expect.objectContaining({ name: "ollama", is_local: true, key: null }),
        expect.objectContaining({
          name: "zhipu",
          base_url: "http://10.0.0.9/v1",
          needs_key: false,
          timeout_seconds: 5,
        }),
      ]),
    );
    expect((await ask("DELETE", "/providers/zhipu"))[0]).toBe(204);
    expect(await json("GET", "/providers")).toContainEqual(
      expect.objectContaining({
        name: "zhipu",
        base_url: "https://open.bigmodel.cn/api/paas/v4",
        is_local: false,
        needs_key: true,
        key: { name: "ZHIPU_API_KEY", is_set: false, source: null, shown: null },
        timeout_seconds: null,
      }),
    );
  });
});

it("with several owners all may read, and only admin may change settings or see a part of a key", async () => {
  const keys = ["ada", "admin"].map((owner) => ({ owner, key: `${owner}-key` }));
  const shared = await startSessions({
    apiKeys: keys,
    openai: { apiKey: "canary-0123456789-abcdef", baseUrl: undefined },
  });
  const send = (owner: string, method: string, path: string, body?: unknown): Promise<Response> =>
    shared.server.send(method, path, body, { "x-api-key": `${owner}-key` });
  try {
    for (const [method, path, body] of [
      ["POST", "/models", { name: "openai:x" }],
      ["PATCH", "/models/zhipu:glm-4.7", { vision: true }],
      ["DELETE", "/models/zhipu:glm-4.7", undefined],
      ["PUT", "/models/roles", { main: "offline" }],
      ["POST", "/models/offline/test", {}],
      ["PUT", "/providers/openai", { base_url: "http://10.0.0.1" }],
      ["DELETE", "/providers/openai", undefined],
      ["PUT", "/providers/openai/key", { key: "a-key" }],
      ["DELETE", "/providers/openai/key", undefined],
    ] as const) {
      const refused = await send("ada", method, path, body);
      expect([path, refused.status, await refused.text()]).toEqual([path, 403, expect.stringContaining("owner admin")]);
    }
    const seenBy = async (owner: string): Promise<string> => await (await send(owner, "GET", "/providers")).text();
    expect(await seenBy("admin")).toContain('"…cdef"');
    expect(await seenBy("ada")).toContain('"OPENAI_API_KEY"');
    expect(await seenBy("ada")).not.toContain("cdef");
    expect((await send("admin", "PUT", "/models/roles", { main: "offline" })).status).toBe(200);
    expect(await (await send("ada", "GET", "/models")).json()).toMatchObject({ roles: { main: "offline" } });
  } finally {
    await shared.close();
  }
});
