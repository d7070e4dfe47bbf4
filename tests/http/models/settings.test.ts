import { readdir } from "node:fs/promises";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig, type Config } from "@millrace/engine/config/config";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

const Settings = z.object({
  settings: z.array(
    z.object({
      name: z.string(),
      value: z.json(),
      source: z.string(),
      default: z.json(),
      is_secret: z.boolean(),
      change: z.string().nullable(),
    }),
  ),
});
let fixture: SessionFixture | undefined;
afterEach(async () => {
  await fixture?.close();
  fixture = undefined;
});

/** A server with this environment, as far as settings show it. */
async function start(env: Record<string, string> = {}, more: Partial<Config> = {}): Promise<SessionFixture> {
  const { given, toolRate } = loadConfig(env);
  fixture = await startSessions({ given, toolRate, ...more });
  return fixture;
}

async function settingsOf(server: SessionFixture): Promise<Record<string, object>> {
  const { settings } = Settings.parse(await server.json("GET", "/settings"));
  return Object.fromEntries(settings.map(({ name, ...rest }) => [name, rest]));
}

it("every variable is shown with its value, its source and where it can be changed, and without secrets", async () => {
  const secret = "a-very-long-secret-of-bing-7f3a";
  const server = await start({
    MILLRACE_TOOL_RATE: "5",
    BING_SEARCH_API_KEY: secret,
    MILLRACE_WEBHOOK_SECRET: "short-secret",
    OPENAI_BASE_URL: "http://ada:pass-word@127.0.0.1:9/v1",
  });
  const settings = await settingsOf(server);
  expect(settings).toMatchObject({
    MILLRACE_TOOL_RATE: { value: 5, default: null, source: "environment", is_secret: false, change: "PATCH /settings" },
    MILLRACE_MODEL_RATE: { value: null, source: "default", change: "PATCH /settings" },
    MILLRACE_MAX_REQUESTS: { value: 2000, default: 2000, source: "default", change: null },
    MILLRACE_CRITICAL_FILES: { value: [], source: "default" },
    BING_SEARCH_API_KEY: { value: "…7f3a", source: "environment", is_secret: true },
    MILLRACE_WEBHOOK_SECRET: { value: "…", source: "environment", is_secret: true, change: null },
    OPENAI_BASE_URL: { value: "http://127.0.0.1:9/v1", change: "PUT /providers/openai" },
    OPENAI_API_KEY: { value: null, is_secret: true, change: "PUT /providers/openai/key" },
  });
  expect(JSON.stringify(settings)).not.toMatch(/very-long|short-secret|pass-word/u);
});

it("settings that were changed by the routes of models and keys are shown", async () => {
  const server = await start();
  await server.json("PUT", "/providers/openai/key", { key: "sk-a-long-key-of-openai-9b1c" });
  await server.json("PUT", "/models/roles", { main: "openai:scripted-too" });
  expect(await settingsOf(server)).toMatchObject({
    OPENAI_API_KEY: { value: "…9b1c", source: "changed" },
    MILLRACE_MODEL: { value: "openai:scripted-too", source: "changed", change: "PUT /models/roles" },
  });
});

it("a change applies from the next turn on, is kept over a restart, and can be reset", async () => {
  const server = await start();
  const deletion = { name: "update_file", arguments: { path: "notes.md", content: "new" } };
  const isAsked = async (): Promise<boolean> => {
    const { thread_id } = await server.server.client.threads.create();
    server.model.push({ toolCalls: [deletion] }, { text: "Done." });
    const input = { messages: [{ role: "user", content: "write the notes" }] };
    await server.server.client.runs.wait(thread_id, "agent", { input, context: { mode: "free_work" } });
    return (await server.server.client.threads.getState(thread_id)).tasks.some(
      ({ interrupts }) => interrupts.length > 0,
    );
  };
  const before = await isAsked();
  const changed = Settings.parse(
    await server.json("PATCH", "/settings", { MILLRACE_CRITICAL_FILES: "*.md", MILLRACE_TOOL_RATE: 50 }),
  );
  expect(changed.settings).toContainEqual({
    name: "MILLRACE_CRITICAL_FILES",
    value: ["*.md"],
    default: [],
    source: "changed",
    is_secret: false,
    change: "PATCH /settings",
  });
  expect([before, await isAsked()]).toEqual([false, true]);
  await server.json("PATCH", "/settings", { MILLRACE_CRITICAL_FILES: null });
  expect(await settingsOf(server)).toMatchObject({
    MILLRACE_CRITICAL_FILES: { value: [], source: "default" },
    MILLRACE_TOOL_RATE: { value: 50, source: "changed" },
  });
  expect(await readdir(server.server.config.dataDir)).toContain("settings.json");
});

it.each([
  ["PORT", 3000, "is not changed here", "environment"],
  ["MILLRACE_API_KEYS", "new-key", "is not changed here", "environment"],
  ["MILLRACE_WEB_ALLOW", "127.0.0.1", "is not changed here", "environment"],
  ["MILLRACE_MODEL", "offline", "is not changed here", "PUT /models/roles"],
  ["OPENAI_API_KEY", "secret", "is not changed here", "PUT /providers/openai/key"],
  ["NOTHING", "1", "There is no setting NOTHING", "one of these"],
  ["MILLRACE_TOOL_RATE", "fast", "MILLRACE_TOOL_RATE", "GET /settings"],
])("refuses to change %s to %s, and says what to do", async (name, value, words, remedy) => {
  const server = await start();
  const response = await server.server.send(
    "PATCH",
    "/settings",
    { [name]: value, MILLRACE_CONFIRM_TASKS: "on" },
    { accept: "application/json" },
  );
  const text = await response.text();
  expect([response.status, text]).toEqual([400, expect.stringContaining(words)]);
  expect(text).toContain(remedy);
  expect(await settingsOf(server)).toMatchObject({ MILLRACE_CONFIRM_TASKS: { source: "default" } });
});

it("only administrators may read and change settings", async () => {
  const server = await start(
    {},
    {
      apiKeys: [
        { owner: "admin", key: "key-of-admin" },
        { owner: "ada", key: "key-of-ada" },
      ],
    },
  );
  for (const [method, body] of [["GET"], ["PATCH", { MILLRACE_CONFIRM_TASKS: "on" }]] as const) {
    expect((await server.server.send(method, "/settings", body, { "x-api-key": "key-of-ada" })).status).toBe(403);
    expect((await server.server.send(method, "/settings", body)).status).toBe(401);
    expect((await server.server.send(method, "/settings", body, { "x-api-key": "key-of-admin" })).status).toBe(200);
  }
});
