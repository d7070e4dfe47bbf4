import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { runLimits } from "@millrace/engine/runs/options";
import { LoopLimits } from "../../src/state.ts";

const keysIn = (text: string) => loadConfig({ MILLRACE_API_KEYS: text }).apiKeys;
const digestOf = (key: string): string => createHash("sha256").update(key).digest("hex").slice(0, 12);

describe("MILLRACE_API_KEYS", () => {
  it.each([
    ["", []],
    [" , ", []],
    ["secret", [{ owner: digestOf("secret"), key: "secret" }]],
    [
      "ada:one, bob : two ",
      [
        { owner: "ada", key: "one" },
        { owner: "bob", key: "two" },
      ],
    ],
    [
      "ada:one,ada:two",
      [
        { owner: "ada", key: "one" },
        { owner: "ada", key: "two" },
      ],
    ],
    ["ada:with:colons", [{ owner: "ada", key: "with:colons" }]],
    [
      "ada:one,ada:one",
      [
        { owner: "ada", key: "one" },
        { owner: "ada", key: "one" },
      ],
    ],
  ])("%j is read", (text, expected) => {
    expect(keysIn(text)).toEqual(expected);
  });

  it("keeps the owner of a plain key from one start to the next, and never shows the key in it", () => {
    const [first] = keysIn("a-long-secret-key");
    expect(keysIn("other,a-long-secret-key")[1]).toEqual(first);
    expect(first?.owner).toMatch(/^[0-9a-f]{12}$/);
  });

  it.each([
    ["a name that is none", "ok,not a name:secret-part", "entry 2"],
    ["no name", ":secret-part", "entry 1"],
    ["no key", "secret-part:", "entry 1"],
    ["one key of two owners", "ada:secret-part,bob:secret-part", "the same key has two owners"],
  ])("with %s is refused by its place, and not repeated", (_, text, named) => {
    let message = "";
    try {
      keysIn(text);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain("MILLRACE_API_KEYS");
    expect(message).toContain(named);
    expect(message).not.toContain("secret-part");
  });
});

describe("the configuration (CFG-01)", () => {
  it("has a value for everything without an environment, and takes an empty variable for none", () => {
    const defaults = loadConfig({});
    expect(defaults).toMatchObject({
      port: 2024,
      host: "127.0.0.1",
      model: "auto",
      logLevel: "info",
      crashBudget: 3,
    });
    expect(loadConfig({ PORT: "", MILLRACE_MODEL: "", MILLRACE_TOOL_RATE: "" })).toEqual(defaults);
  });

  it("reports every wrong value at once, each with the name of its variable", () => {
    const wrong = { PORT: "much", MILLRACE_LOG_LEVEL: "loud", MILLRACE_QUEUE_LIMIT: "-1", OLLAMA_BASE_URL: "nowhere" };
    let message = "";
    try {
      loadConfig(wrong);
    } catch (error) {
      message = String(error);
    }
    for (const name of Object.keys(wrong)) expect(message).toContain(`${name}: `);
  });

  it("keeps what belongs to the user apart from the project, in places that can be chosen (CFG-04)", () => {
    const { dataDir, workspace } = loadConfig({ MILLRACE_DATA_DIR: "/srv/own", MILLRACE_WORKSPACE: "/srv/project" });
    expect([dataDir, workspace]).toEqual(["/srv/own", "/srv/project"]);
  });

  it("names models, their addresses and keys, and the search with its own (CFG-02)", () => {
    const config = loadConfig({
      MILLRACE_MODEL: "openai:main",
      MILLRACE_EMBEDDING_MODEL: "openai:vectors",
      OPENAI_API_KEY: "key of openai",
      OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
      OLLAMA_BASE_URL: "http://127.0.0.1:2",
      ZHIPU_API_KEY: "key of zhipu",
      SILICONFLOW_API_KEY: "key of siliconflow",
      MILLRACE_SEARCH: "google",
      GOOGLE_SEARCH_API_KEY: "key of google",
      GOOGLE_SEARCH_CX: "engine of google",
    });
    expect(config).toMatchObject({
      model: "openai:main",
      embeddingModel: "openai:vectors",
      openai: { apiKey: "key of openai", baseUrl: "http://127.0.0.1:1/v1" },
      ollamaBaseUrl: "http://127.0.0.1:2",
      vendorKeys: { zhipu: "key of zhipu", siliconflow: "key of siliconflow" },
      web: { search: { engine: "google", apiKey: "key of google", engineId: "engine of google" } },
    });
  });

  it("gives a loop limits for real work where a run names none (CFG-02, CFG-03)", () => {
    expect(LoopLimits.parse({})).toEqual({
      max_iterations: 60,
      max_tool_calls_per_turn: 50,
      timeout_seconds: 3600,
      max_parallel_tools: 3,
      max_tool_retries: 2,
      tool_result_max_length: 96_000,
      same_failure_limit: 2,
      stagnation_threshold: 3,
      max_force_continue: 5,
      generate_max_rounds: 5,
      max_history_rounds: null,
      agentic_connection_retries: 3,
      safe_zone: "80k",
    });
    expect(LoopLimits.safeParse({ tool_timeout_seconds: 0 }).success).toBe(false);
  });

  it("has the store of conversations in variables of its own (SESS-17)", () => {
    expect(loadConfig({}).conversations).toEqual({
      folder: undefined,
      cachedSessions: 512,
      cacheSeconds: 300,
      lockSeconds: 10,
      defaultNamespace: undefined,
    });
    const chosen = loadConfig({
      CONVERSATION_STORAGE_PATH: "/srv/conversations",
      CONVERSATION_MAX_CACHE_SIZE: "7",
      CONVERSATION_CACHE_TTL: "0.5",
      CONVERSATION_LOCK_TIMEOUT: "2",
      CONVERSATION_DEFAULT_NAMESPACE: "项目 a",
    });
    expect(chosen.conversations).toEqual({
      folder: "/srv/conversations",
      cachedSessions: 7,
      cacheSeconds: 0.5,
      lockSeconds: 2,
      defaultNamespace: "项目 a",
    });
  });

  it("lets changes of one session wait for each other as long as CONVERSATION_LOCK_TIMEOUT says (SESS-17)", () => {
    const patience = (env: Record<string, string>): unknown => runLimits(loadConfig(env), undefined).turnPatience;
    expect([patience({}), patience({ CONVERSATION_LOCK_TIMEOUT: "2" })]).toEqual([10_000, 2000]);
  });

  it.each([
    ["CONVERSATION_MAX_CACHE_SIZE", "0"],
    ["CONVERSATION_MAX_CACHE_SIZE", "1.5"],
    ["CONVERSATION_CACHE_TTL", "-1"],
    ["CONVERSATION_LOCK_TIMEOUT", "soon"],
    ["CONVERSATION_DEFAULT_NAMESPACE", "a/b"],
  ])("names %s where it is %s", (name, value) => {
    expect(() => loadConfig({ [name]: value })).toThrow(`${name}: `);
  });
});
