import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { perform, setRequestLanguage } from "../../../console/api/client.ts";
import { startRun } from "../../../console/api/runs/runs.ts";
import { startTestServer, type TestServer } from "../../support/testing.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  const real = fetch;
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => real(new URL(path, server.url), init));
});
afterAll(async () => {
  vi.unstubAllGlobals();
  await server.remove();
});
afterEach(() => setRequestLanguage("en"));

const refusalOf = async (work: Promise<unknown>): Promise<string> =>
  await work.then(
    () => "not refused",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
const post = (path: string, body: unknown) => refusalOf(perform(path, { method: "POST", body }));
const chinese = /^\p{Script=Han}[^A-Za-z]*$/u;

describe("what the server refuses, as the console shows it in Chinese", () => {
  it.each([
    ["in words of its own", "/threads/import", { format: "millrace.session", version: 99 }, /版本是 99/u],
    ["with the values that are wrong", "/threads/search", { limit: "many" }, /^有参数不符合要求。.*（limit）$/u],
    ["with the server's words where there is no Chinese text", "/models", { name: "?:x" }, /^\p{Script=Han}/u],
  ])("%s", async (_, path, body, expected) => {
    setRequestLanguage("zh");
    expect(await post(path, body)).toMatch(expected);
  });

  it("where a stream of events is refused", async () => {
    setRequestLanguage("zh");
    const path = "/threads/00000000-0000-7000-8000-000000000000/runs/00000000-0000-7000-8000-000000000000/stream";
    const headers = { Accept: "text/event-stream" };
    expect(await refusalOf(perform(path, { headers }))).toMatch(/^找不到所请求的内容。/u);
  });

  it("where a message begins no run", async () => {
    const thread = await server.client.threads.create();
    const message = { id: crypto.randomUUID(), text: "Hello", attachments: [], at: new Date().toISOString() };
    setRequestLanguage("zh");
    expect(await refusalOf(startRun(thread.thread_id, "unknown", message, {}))).toMatch(/^找不到所请求的内容。/u);
  });
});

describe("what the server refuses, as the console shows it in English", () => {
  it("is what the server says, with what to do", async () => {
    const text = await post("/threads/import", { format: "millrace.session", version: 99 });
    expect(text).toMatch(/^The file is of version 99; .* Import it with/u);
    expect(text).not.toMatch(chinese);
  });
});
