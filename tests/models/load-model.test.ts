import { describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { providers } from "@millrace/models/index";
import { createModel, createModelLoader, modelTarget } from "@millrace/models/load-model";
import { modelLimits } from "@millrace/models/registry/model-limits";
import { ModelRegistry } from "@millrace/models/registry/registry";
import { offline, OfflineModel } from "@millrace/offline/offline";

const empty = loadConfig({});
const loadModel = createModelLoader(empty, { models: new ModelRegistry(empty, { others: { offline } }) });

describe("a model loader", () => {
  it("gives the same instance for the same name and options, another for other options", () => {
    expect(loadModel("offline", {})).toBe(loadModel("offline", {}));
    expect(loadModel("offline", { temperature: 0.2 })).not.toBe(loadModel("offline", {}));
    expect(loadModel("offline", {})).toBeInstanceOf(OfflineModel);
  });

  it("gives a model back as it is", () => {
    const own = new OfflineModel();
    expect(loadModel(own, {})).toBe(own);
  });

  it.each(["gpt-4o", "unknown:x", "constructor:x", "__proto__", ""])(
    "refuses the unknown provider in “%s” and lists the known ones",
    (name) => {
      expect(() => loadModel(name, {})).toThrow(
        expect.objectContaining({ code: "invalid_parameter", message: expect.stringContaining("offline, openai") }),
      );
    },
  );

  it("refuses a provider without a name", () => {
    expect(() => loadModel("ollama:", {})).toThrow(expect.objectContaining({ code: "invalid_parameter" }));
  });
});

describe("createModel", () => {
  it.each([
    ["openai", "OPENAI_API_KEY"],
    ["zhipu", "ZHIPU_API_KEY"],
    ["siliconflow", "SILICONFLOW_API_KEY"],
    ["deepseek", "DEEPSEEK_API_KEY"],
    ["qwen", "DASHSCOPE_API_KEY"],
  ])("names the variable when the key of %s is missing", (provider, variable) => {
    expect(() => createModel(`${provider}:x`, {}, empty)).toThrow(
      expect.objectContaining({ code: "auth", message: expect.stringContaining(variable) }),
    );
    const model = createModel(`${provider}:x`, { temperature: 0.5 }, loadConfig({ [variable]: "k" }));
    expect(model._llmType()).toBe("openai");
    expect(model.invocationParams({})).toMatchObject({ model: "x", temperature: 0.5 });
    expect(model.invocationParams({})).not.toHaveProperty("stream", true);
    expect(modelTarget(model)?.address).toMatch(/^https:/u);
  });

  it("needs no key for a server of one's own", () => {
    const model = createModel("openai:local", {}, loadConfig({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" }));
    expect(modelTarget(model)?.address).toBe("http://127.0.0.1:9/v1");
  });

  it("keeps the colon in a name of Ollama, and sets its window", () => {
    const model = createModel("ollama:qwen2.5:7b", {}, loadConfig({ MILLRACE_CONTEXT_LIMIT: "9000" }));
    expect(model._llmType()).toBe("ollama");
    expect(model.invocationParams({})).toMatchObject({ model: "qwen2.5:7b", options: { num_ctx: 9000 } });
  });

  it("has an address or none for every provider, and a hint for the case that it is not reached", () => {
    for (const provider of Object.values(providers)) expect(provider.unreachableHint).not.toBe("");
  });
});

describe("modelLimits", () => {
  it.each([
    ["openai:gpt-4o-mini", 128_000, 16_384],
    ["openai:gpt-4.1-nano", 1_047_576, 32_768],
    ["siliconflow:Pro/x", 128_000, 32_768],
    ["ollama:mistral:7b", 32_768, 8_192],
  ])("%s reads %i and writes %i tokens", (name, context, output) => {
    expect(modelLimits(name)).toEqual({ context, output });
  });

  it("is never more than the configured limit", () => {
    expect(modelLimits("openai:gpt-4.1", 5000)).toEqual({ context: 5000, output: 5000 });
  });
});
