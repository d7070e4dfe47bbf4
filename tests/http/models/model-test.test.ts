import { afterAll, beforeAll, expect, it } from "vitest";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const test = async (model: string, language = "en"): Promise<unknown> => {
  const path = `/models/${encodeURIComponent(model)}/test`;
  return await (await fixture.server.send("POST", path, {}, { "accept-language": language })).json();
};

it("a test shows whether a model answers, is stored with its date, and is dropped with a new key", async () => {
  fixture.model.push({ text: "Hello." });
  const answer = await test("openai:some/model");
  expect(answer).toMatchObject({
    ok: true,
    kind: "ok",
    error_type: null,
    message: "The model answers.",
    llm_last_verified_at: expect.any(String),
  });
  const at = { llm_last_verified_at: expect.stringMatching(/^20\d\d-/u) };
  expect(await fixture.json("GET", "/models/openai:some%2Fmodel")).toMatchObject(at);
  expect(await fixture.json("GET", "/providers")).toContainEqual(expect.objectContaining({ name: "openai", ...at }));
  const saved = await fixture.json("PUT", "/providers/openai/key", { key: "another-key" });
  expect(saved).toMatchObject({ llm_last_verified_at: null });
  expect(await fixture.json("GET", "/models/openai:some%2Fmodel")).toMatchObject({ llm_last_verified_at: null });
});

it("a failed test has its reason in the reader's language", async () => {
  const refused = { fault: { kind: "status", status: 401 } } as const;
  fixture.model.push(refused, refused);
  expect(await test("openai:a")).toMatchObject({
    ok: false,
    kind: "auth",
    error_type: "auth",
    message: "Access was refused: a key is missing or is not valid.",
    suggestion: "Check the key in OPENAI_API_KEY.",
    detail: expect.stringContaining("refused the key (401)"),
    llm_last_verified_at: null,
  });
  expect(await test("openai:a", "zh-CN")).toMatchObject({
    message: "未获授权：缺少密钥或密钥无效。",
    suggestion: "请检查配置中的密钥。",
  });
  const nowhere = await fixture.server.send("POST", "/models/nowhere:x/test", {});
  expect([nowhere.status, await nowhere.text()]).toEqual([400, expect.stringContaining("names no known provider")]);
});
