import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig, type Config } from "@millrace/engine/config/config";
import { LiveSettings, openSettings } from "../../src/live-settings/live-settings.ts";
import { withLiveSettings } from "../../src/loop/live-services.ts";
import type { SharedRunServices } from "../../src/loop/services.ts";
import { withStoredKeys } from "@millrace/engine/config/web-settings";

let dataDir = "";
let file = "";
let warned: unknown[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "millrace-settings-"));
  file = join(dataDir, "settings.json");
  warned = [];
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const open = (env: Record<string, string> = {}, more: Partial<Config> = {}): LiveSettings =>
  new LiveSettings({ ...loadConfig({ ...env, MILLRACE_DATA_DIR: dataDir }), ...more }, (warning) =>
    warned.push(warning),
  );

it("what was changed goes before the environment, in this process and in the next one, until it is taken back", () => {
  const settings = open({ MILLRACE_TOOL_RATE: "5" });
  const before = settings.current();
  expect(before.toolRate).toBe(5);
  settings.change({ MILLRACE_TOOL_RATE: "7", MILLRACE_CONFIRM_TASKS: "on" });
  expect(settings.current()).toEqual({ ...before, toolRate: 7, confirmTasks: true });
  expect(settings.current()).toBe(settings.current());
  expect(open({ MILLRACE_TOOL_RATE: "5" }).current()).toMatchObject({ toolRate: 7, confirmTasks: true });
  settings.change({ MILLRACE_TOOL_RATE: null });
  expect(settings.current()).toMatchObject({ toolRate: 5, confirmTasks: true });
  settings.change({ MILLRACE_CONFIRM_TASKS: null });
  expect(settings.current()).toEqual(before);
});

it("gives the loop the rates and limits of the moment, and the same rate until it is changed (QUEUE-04)", () => {
  const settings = open({ MILLRACE_TOOL_RATE: "5", MILLRACE_MODEL_REQUESTS: "3" });
  // Only what depends on settings is looked at.
  const services = withLiveSettings({} as SharedRunServices, settings);
  const { toolRate, modelRate, modelRequests } = services;
  expect([toolRate !== undefined, modelRate, modelRequests]).toEqual([true, undefined, 3]);
  expect(services.toolRate).toBe(toolRate);
  settings.change({ MILLRACE_TOOL_RATE: "7", MILLRACE_MODEL_RATE: "2" });
  expect(services.toolRate).not.toBe(toolRate);
  expect([services.toolRate, services.modelRate].every((rate) => rate !== undefined)).toBe(true);
});

it("keeps what stands in the configuration besides, also where the environment says something else", () => {
  const settings = open(
    { MILLRACE_MODEL: "openai:from-the-environment" },
    { model: "offline", web: loadConfig({ MILLRACE_WEB_ALLOW: "127.0.0.1:80" }).web },
  );
  settings.change({ SEARXNG_URL: "http://127.0.0.1:8888" });
  expect(settings.current()).toMatchObject({
    model: "offline",
    web: {
      search: { engine: "searxng", address: "http://127.0.0.1:8888" },
      opensPages: true,
      allowed: ["127.0.0.1:80"],
    },
  });
});

it.each([
  ["a wrong value", { MILLRACE_TOOL_RATE: "fast" }, "MILLRACE_TOOL_RATE"],
  ["an engine that is not set up", { MILLRACE_SEARCH: "searxng" }, "not set up"],
  [
    "a right one beside a wrong one",
    { MILLRACE_CONFIRM_TASKS: "on", MILLRACE_LOG_LEVEL: "loud" },
    "MILLRACE_LOG_LEVEL",
  ],
])("%s is refused, and nothing has changed", (_, changes, words) => {
  const settings = open();
  settings.change({ MILLRACE_MODEL_RATE: "2" });
  const before = readFileSync(file, "utf8");
  expect(() => settings.change(changes)).toThrow(
    expect.objectContaining({ code: "invalid_parameter", message: expect.stringContaining(words) }),
  );
  expect(readFileSync(file, "utf8")).toBe(before);
  expect(settings.current()).toMatchObject({ modelRate: 2, confirmTasks: false });
});

it("a change by hand counts from the next look on, and of a broken file the last good state", () => {
  const settings = open();
  settings.change({ MILLRACE_CONFIRM_TASKS: "on" });
  writeFileSync(file, '{"MILLRACE_TOOL_RATE": "3"}');
  expect(settings.current()).toMatchObject({ toolRate: 3, confirmTasks: false });
  const broken = ["{", "[]", '{"PORT": "1"}', '{"MILLRACE_TOOL_RATE": 3}', '{"MILLRACE_TOOL_RATE": "-3"}'];
  for (const text of broken) {
    writeFileSync(file, text);
    expect(settings.current(), text).toMatchObject({ toolRate: 3 });
    expect(() => settings.change({ MILLRACE_CONFIRM_TASKS: "on" }), text).toThrow(
      expect.objectContaining({ code: "conflict" }),
    );
    expect(readFileSync(file, "utf8")).toBe(text);
  }
  expect(warned).toHaveLength(broken.length);
  rmSync(file);
  expect(settings.current().toolRate).toBeUndefined();
});

it("the log says as much as the settings want as soon as they want it, also where they were changed by hand", () => {
  const config = { ...loadConfig({ MILLRACE_LOG_LEVEL: "warn" }), dataDir };
  const logger = { level: "warn", error: (warning: object) => void warned.push(warning) };
  const settings = openSettings(config, logger);
  const levels: [string, string][] = [];
  const look = () => void levels.push([settings.current().logLevel, logger.level]);
  look();
  writeFileSync(file, JSON.stringify({ MILLRACE_LOG_LEVEL: "debug" }));
  look();
  settings.change({ MILLRACE_LOG_LEVEL: "trace" });
  levels.push(["changed", logger.level]);
  rmSync(file);
  look();
  expect(levels).toEqual([
    ["warn", "warn"],
    ["debug", "debug"],
    ["changed", "trace"],
    ["warn", "warn"],
  ]);
  writeFileSync(file, JSON.stringify({ MILLRACE_LOG_LEVEL: "error" }));
  openSettings(config, logger);
  expect([logger.level, warned]).toEqual(["error", []]);
});

describe("a search engine at another address", () => {
  const key = "secret-key-of-the-environment";
  const here = "https://search.example/v7.0/search";
  const elsewhere = "https://elsewhere.example/v7.0/search";

  it.each([
    ["google", { GOOGLE_SEARCH_API_KEY: key, GOOGLE_SEARCH_CX: "cx", GOOGLE_SEARCH_URL: here }, "GOOGLE_SEARCH_URL"],
    ["bing", { BING_SEARCH_API_KEY: key, BING_SEARCH_URL: here }, "BING_SEARCH_URL"],
    ["bing", { BING_SEARCH_API_KEY: key }, "BING_SEARCH_URL"],
  ])("is %s without the environment's key: it searches there by a stored one", (engine, env, address) => {
    const settings = open(env);
    settings.change({ [address]: elsewhere });
    const { web } = settings.current();
    expect(web.search).toBeUndefined();
    expect(JSON.stringify(web)).not.toContain(key);
    const stored = withStoredKeys(web, { GOOGLE_SEARCH_API_KEY: "stored", BING_SEARCH_API_KEY: "stored" });
    expect(stored.search).toMatchObject({ engine, address: elsewhere, apiKey: "stored", isMoved: true });
    settings.change({ [address]: null });
    expect(settings.current().web.search).toMatchObject({ engine, apiKey: key });
    expect(settings.current().web.search).not.toHaveProperty("isMoved");
  });

  it("keeps the key where only something else is changed, or the same address is said again", () => {
    const settings = open({ BING_SEARCH_API_KEY: key, BING_SEARCH_URL: here });
    settings.change({ MILLRACE_WEB_FETCH: "off", BING_SEARCH_URL: here });
    expect(settings.current().web.search).toEqual({ engine: "bing", address: here, apiKey: key });
  });
});
