import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { loadConfig, type Config } from "@millrace/engine/config/config";
import { answerBeginning } from "@millrace/models/messages/answer-beginning";
import { masked } from "@millrace/models/registry/credentials";
import { createModelLoader, modelTarget } from "@millrace/models/load-model";
import { toModelError } from "@millrace/models/model-error";
import { ModelProfile } from "@millrace/models/registry/model-profile";
import { readModelSettings } from "@millrace/models/registry/model-settings";
import { openModels, type ModelRegistry } from "@millrace/models/registry/registry";
import { startModelServer } from "@millrace/testing/model-server";

let folder = "";
let config: Config;
let warnings: { file: string; problem: string }[] = [];
let models: ModelRegistry;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-models-"));
});
afterAll(async () => await rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  for (const name of await readdir(folder)) await rm(join(folder, name));
  warnings = [];
  config = loadConfig({
    MILLRACE_DATA_DIR: folder,
    OPENAI_API_KEY: "sk-environment-key-1234",
    MILLRACE_MODEL: "openai:a",
  });
  models = openModels(config, { error: (warning: { file: string; problem: string }) => void warnings.push(warning) });
});

const modelsFile = (): string => join(folder, "models.yaml");
const keysFile = (): string => join(folder, "credentials.json");
const writeKeys = async (text: string, mode = 0o600): Promise<void> => {
  await writeFile(keysFile(), text, { mode });
  await chmod(keysFile(), mode);
};

describe("the file of models", () => {
  it("counts from the next use on, and its last good state when it breaks", async () => {
    const loadModel = createModelLoader(config, { models });
    const before = loadModel("openai:a", {});
    await writeFile(
      modelsFile(),
      "models:\n  openai:a: { context: 9000, temperature: 0.3 }\nroles:\n  main: openai:b\n",
    );
    expect(models.profile("openai:a")).toMatchObject({ context: 9000, output: 9000 });
    expect(models.roles()).toEqual({ main: "openai:b" });
    const after = loadModel("openai:a", {});
    expect(after).not.toBe(before);
    expect(after.invocationParams({})).toMatchObject({ temperature: 0.3 });
    await writeFile(modelsFile(), "models:\n  openai:a: { context: 9000 }\n  openai:b: { context: none }\n");
    expect(models.profile("openai:a")).toMatchObject({ context: 9000 });
    expect(models.roles()).toEqual({ main: "openai:b" });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatchObject({ file: modelsFile(), problem: expect.stringContaining("line 3: ") });
    await rm(modelsFile());
    expect(models.roles()).toEqual({ main: "openai:a" });
  });

  it("keeps comments when the API changes it, and is never overwritten while it is broken", async () => {
    await writeFile(modelsFile(), "# ours\nroles:\n  # cheap\n  plan: openai:b\n");
    const { file } = models.files();
    file.change([{ path: ["models", "openai:b"], value: { context: 5000 } }]);
    expect(await readFile(modelsFile(), "utf8")).toContain("# cheap");
    expect(models.profile("openai:b").context).toBe(5000);
    expect(() => file.change([{ path: ["models", "openai:b", "context"], value: -1 }])).toThrow(
      expect.objectContaining({ code: "invalid_parameter" }),
    );
    expect(models.profile("openai:b").context).toBe(5000);
    await writeFile(modelsFile(), "roles: [");
    expect(() => file.change([{ path: ["roles", "main"], value: "openai:c" }])).toThrow(
      expect.objectContaining({ code: "conflict", message: expect.stringContaining("line 1") }),
    );
    expect(await readFile(modelsFile(), "utf8")).toBe("roles: [");
    expect(await readdir(folder)).toEqual(["models.yaml"]);
  });

  it.each([
    ["roles:\n  main: gpt", "line 2: roles › main: expected provider:name"],
    ["roles:\n  mian: openai:x", "line 1: roles: Unrecognized key"],
    ["models:\n  gpt: {}", "line 2: models › gpt: "],
    ["models:\n  openai:x:\n    tool_calls: sometimes", "line 3: models › openai:x › tool_calls: "],
    ["providers:\n  mine: {}", "line 2: providers › mine: a provider of your own needs a base_url"],
    ["providers:\n  openai: { kind: openai-compatible }", "line 2: providers › openai: this provider is built in"],
    ["providers:\n  openai: { beginning_field: prefix }", "line 2: providers › openai: this provider is built in"],
    ["providers:\n  zhipu: { thinking_field: thinking }", "line 2: providers › zhipu: this provider is built in"],
    ["providers:\n  mine:\n    base_url: ftp://x", "line 3: providers › mine › base_url: expected an address"],
    ["providers:\n  mine:\n    base_url: http://u:p@x", "an address without a name or password"],
    ["providers:\n  zhipu:\n    key: MILLRACE_API_KEYS", "line 3: providers › zhipu › key: expected the name of a key"],
    ["providers:\n  zhipu:\n    key: LANGSMITH_API_KEY", "expected the name of a key"],
    ["a: 1\na: 2", "line 2: Map keys must be unique"],
  ])("%j is wrong, and said in which line", (text, problem) => {
    expect(readModelSettings(text)).toEqual({ problem: expect.stringContaining(problem) });
  });

  it.each([
    "http://169.254.169.254/latest",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]",
    "http://[::ffff:169.254.169.254]/v1",
    "http://0xA9FEA9FE/",
    "http://100.100.100.200",
    "http://metadata.google.internal/v1",
    "http://0.0.0.0:80",
  ])("refuses %s as an address: secrets of machines live there", (url) => {
    const read = readModelSettings(JSON.stringify({ providers: { mine: { base_url: url } } }));
    expect(read).toEqual({
      problem: expect.stringContaining("link-local addresses and metadata services are refused"),
    });
  });

  it.each(["http://127.0.0.1:1234/v1/", "http://10.0.0.4/v1", "https://models.example.com", "http://[::1]:8080"])(
    "takes %s: people run their models there",
    (url) =>
      expect(readModelSettings(JSON.stringify({ providers: { mine: { base_url: url } } }))).toHaveProperty("value"),
  );
});

it("the file in the documentation can be used", async () => {
  const text = await readFile(new URL("../../docs/assistant/providers.md", import.meta.url), "utf8");
  const example = /^```yaml\n([\s\S]*?)^```$/mu.exec(text)?.[1] ?? "";
  expect(readModelSettings(example)).toMatchObject({ value: { roles: { main: "zhipu:glm-4.7" } } });
  const fields = [...text.matchAll(/^\| (`[a-z_`, ]+`) \|/gmu)].flatMap(([, names]) => names?.match(/[a-z_]+/gu) ?? []);
  expect(fields.toSorted()).toEqual(Object.keys(ModelProfile.shape).toSorted());
});

describe("a provider", () => {
  it("of one's own is reached with its own key", async () => {
    await writeFile(modelsFile(), "providers:\n  mine: { base_url: http://127.0.0.1:9/v1/, key: MINE_API_KEY }\n");
    await writeKeys('{"MINE_API_KEY": "secret-of-mine-0123456789"}');
    expect(models.providerNames()).toContain("mine");
    expect(models.reach("mine:x/y:z")).toMatchObject({
      name: "x/y:z",
      connection: { address: "http://127.0.0.1:9/v1", apiKey: "secret-of-mine-0123456789" },
    });
    const client = createModelLoader(config, { models })("mine:x", {});
    expect(modelTarget(client)).toMatchObject({ name: "mine:x", keyHint: "Check the key in MINE_API_KEY." });
  });

  it("of one's own is given the beginning of an answer by the field that the file names, else never", async () => {
    const server = await startModelServer({ script: [{ text: "three." }] });
    try {
      await writeFile(modelsFile(), `providers:\n  mine: { base_url: "${server.url}", beginning_field: prefix }\n`);
      const client = createModelLoader(config, { models })("mine:x", {});
      expect(modelTarget(client)?.takesBeginning).toBe(true);
      await client.invoke([new HumanMessage("Count"), answerBeginning("One, two, ", "")]);
      expect(server.requests[0]?.messages.at(-1)).toEqual({ role: "assistant", content: "One, two, ", prefix: true });
      await writeFile(modelsFile(), `providers:\n  mine: { base_url: "${server.url}" }\n`);
      expect(modelTarget(createModelLoader(config, { models })("mine:x", {}))?.takesBeginning).toBe(false);
    } finally {
      await server.close();
    }
  });

  it("of one's own is switched to think or not by the field that the file names", async () => {
    const server = await startModelServer({ handler: () => ({ text: "ok" }) });
    const file = (more: string): string =>
      `providers:\n  mine: { base_url: "${server.url}"${more} }\nmodels:\n  mine:x: { thinking: optional }\n`;
    try {
      for (const [more, fields] of [
        [", thinking_field: chat_template_kwargs", { chat_template_kwargs: { enable_thinking: false } }],
        [", thinking_field: thinking", { thinking: { type: "disabled" } }],
        ["", {}],
      ] as const) {
        await writeFile(modelsFile(), file(more));
        await createModelLoader(config, { models })("mine:x", { thinking: false }).invoke([new HumanMessage("Hi")]);
        const { model: _model, stream: _stream, messages: _messages, ...sent } = server.requests.at(-1)?.body ?? {};
        expect(sent).toEqual(fields);
      }
    } finally {
      await server.close();
    }
  });

  it("built in takes an address from the file before that of the environment", async () => {
    expect(models.provider("openai")).toMatchObject({ address: "https://api.openai.com/v1", needsKey: true });
    await writeFile(modelsFile(), "providers:\n  openai: { base_url: http://127.0.0.1:9/v1, timeout_seconds: 7 }\n");
    expect(models.provider("openai")).toMatchObject({ address: "http://127.0.0.1:9/v1", needsKey: false });
    expect(models.reach("openai:x").connection.timeouts).toMatchObject({ firstTokenMs: 7000, idleMs: 60_000 });
  });

  it("that is gone again is unknown", async () => {
    await writeFile(modelsFile(), "providers:\n  mine: { base_url: http://127.0.0.1:9/v1 }\n");
    const loadModel = createModelLoader(config, { models });
    loadModel("mine:x", {});
    await rm(modelsFile());
    expect(() => loadModel("mine:x", {})).toThrow(expect.objectContaining({ code: "invalid_parameter" }));
  });

  it("repeats no key in its errors, whatever the key looks like", async () => {
    await writeKeys('{"ZHIPU_API_KEY": "5f2c.AbCdEf"}');
    const target = modelTarget(createModelLoader(config, { models })("zhipu:glm-4.7", {}));
    const error = toModelError(new Error("what is 5f2c.AbCdEf supposed to be"), target);
    expect(error.message).toContain("[redacted]");
    expect(error.message).not.toContain("AbCdEf");
  });
});

describe("stored keys", () => {
  it("are kept for their owner alone, go before the environment, and can be forgotten", async () => {
    const { credentials } = models.files();
    expect(models.provider("openai")?.key).toEqual({ value: "sk-environment-key-1234", source: "environment" });
    credentials.set("OPENAI_API_KEY", "sk-stored");
    credentials.set("ZHIPU_API_KEY", "other");
    expect((await stat(keysFile())).mode & 0o777).toBe(0o600);
    expect(models.provider("openai")?.key).toEqual({ value: "sk-stored", source: "file" });
    credentials.set("OPENAI_API_KEY", undefined);
    expect(models.provider("openai")?.key?.source).toBe("environment");
    expect(models.provider("zhipu")?.key?.value).toBe("other");
  });

  it.each([0o644, 0o640, 0o602])("are not used from a file with the rights %o, and that is said", async (mode) => {
    await writeKeys('{"ZHIPU_API_KEY": "leaked"}', mode);
    expect(models.provider("zhipu")?.key).toBeUndefined();
    expect(warnings).toEqual([{ file: keysFile(), problem: expect.stringContaining("chmod it to 600") }]);
    expect(() => models.files().credentials.set("ZHIPU_API_KEY", "new")).toThrow(
      expect.objectContaining({ code: "conflict" }),
    );
    await chmod(keysFile(), 0o600);
    expect(models.provider("zhipu")?.key?.value).toBe("leaked");
  });

  it("are never repeated, also not by what says that the file is broken", async () => {
    await writeKeys('{"ZHIPU_API_KEY": canary-5521}');
    expect(models.provider("zhipu")?.key).toBeUndefined();
    await writeKeys('{"ZHIPU_API_KEY": {"canary-5521": 1}}');
    expect(models.provider("zhipu")?.key).toBeUndefined();
    expect(warnings.length).toBeGreaterThan(0);
    expect(JSON.stringify(warnings)).not.toContain("canary");
  });

  it("are listed with those of the environment, so that they can be masked", async () => {
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv("MINE_API_KEY", "mine-of-the-environment");
    expect(models.keys()).toEqual(["sk-environment-key-1234"]);
    await writeFile(modelsFile(), "providers:\n  mine: { base_url: 'http://127.0.0.1:9/v1', key: MINE_API_KEY }\n");
    models.files().credentials.set("BING_SEARCH_API_KEY", "stored-of-an-engine");
    const all = models.keys();
    expect(all.toSorted()).toEqual(["mine-of-the-environment", "sk-environment-key-1234", "stored-of-an-engine"]);
    expect(models.keys()).toBe(all);
  });

  it("are shown by their last four characters at most", () => {
    expect(masked("sk-0123456789abcdefWXYZ")).toBe("…WXYZ");
    expect(masked("short-key")).toBe("…");
  });
});
