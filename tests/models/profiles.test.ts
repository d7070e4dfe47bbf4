import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { builtInModels } from "@millrace/models/registry/built-in-models";
import { providers } from "@millrace/models/index";
import { modelLimits, modelPrice } from "@millrace/models/registry/model-limits";
import { ModelName, ModelProfile, ProfilePart } from "@millrace/models/registry/model-profile";
import { builtInProfiles, isOneModel, profileOf } from "@millrace/models/registry/profiles";

describe("the built-in rows", () => {
  it("can be read by the schema of a file, and are of providers that exist", () => {
    for (const [match, part] of Object.entries(builtInModels)) {
      expect(ProfilePart.safeParse(part).error, match).toBeUndefined();
      expect([...Object.keys(providers), "offline"], match).toContain(match.split(":")[0]);
      if (isOneModel(match)) {
        expect(ModelName.safeParse(match).error, match).toBeUndefined();
        expect(part.display_name, match).toBeDefined();
      }
    }
  });

  it("send images to models that see them", () => {
    const counterparts = Object.keys(builtInModels).flatMap((match) => builtInModels[match]?.vision_model ?? []);
    expect(counterparts).toContain("zhipu:glm-4.6v");
    expect(counterparts.filter((name) => !builtInProfiles(name).vision)).toEqual([]);
  });

  it("have no list of models that are typed by hand", () => {
    expect(Object.keys(builtInModels).filter((match) => match.startsWith("siliconflow:") && isOneModel(match))).toEqual(
      [],
    );
  });

  it.each([
    ["zhipu:glm-4.7", { thinking: "optional", vision_model: "zhipu:glm-4.6v", max_tokens_thinking: 65_536 }],
    ["zhipu:glm-4.7", { temperature: 0.7, temperature_thinking: 1, max_tokens: 32_768, tool_calls: "native" }],
    ["zhipu:glm-4.6v-flash", { vision: true, vision_model: null }],
    ["siliconflow:Pro/deepseek-ai/DeepSeek-R1", { thinking: "always" }],
    ["ollama:llava:13b", { vision: true, tool_calls: "text", context: 32_768 }],
    ["ollama:deepseek-coder:6.7b", { tool_calls: "text", context: 16_384 }],
    ["ollama:llama3:8b", { context: 8192 }],
    ["ollama:llama3.1:8b", { context: 32_768 }],
    ["ollama:qwen2.5:7b", { display_name: "Qwen 2.5 7B", tool_calls: "native", vision: false }],
    ["openai:local", { display_name: "local", price: null, tool_calls: "native" }],
  ])("say of %s what the vendor says", (name, expected) => {
    expect(builtInProfiles(name)).toMatchObject(expected);
  });
});

/** An unknown name is shown as it is, at any length. */
const Whole = ModelProfile.extend({ display_name: z.string() });

describe("a profile", () => {
  it("takes the more exact row, and any row of one's own before the built-in ones", () => {
    const own = { "openai:gpt-4o": { output: 4000 }, "openai:*": { output: 1000, vision: false } };
    expect(profileOf("openai:gpt-4o", own)).toMatchObject({ output: 4000, vision: false, context: 128_000 });
    expect(profileOf("openai:gpt-4o-mini", own)).toMatchObject({ output: 1000, vision: false });
    expect(profileOf("zhipu:glm-4.7", own)).toEqual(builtInProfiles("zhipu:glm-4.7"));
  });

  it("is whole for every name and every row, and never writes more than it may read", () => {
    const positive = fc.integer({ min: 1, max: 1_000_000 });
    const rows = fc.dictionary(
      fc.constantFrom("openai:*", "openai:gpt*", "openai:gpt-4o", "x:y"),
      fc.record({ context: positive, output: positive, vision: fc.boolean() }, { requiredKeys: [] }),
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom("openai:gpt-4o", "openai:gpt", "x:y")), rows, (name, own) => {
        const profile = profileOf(name, own);
        expect(Whole.safeParse(profile).error).toBeUndefined();
        expect(profile.output).toBeLessThanOrEqual(profile.context);
      }),
    );
  });
});

describe("modelPrice", () => {
  it("knows the price of a model, and none where it is not configured", () => {
    expect(modelPrice("openai:gpt-4o-mini")).toEqual({ input: 0.15, output: 0.6 });
    expect(modelPrice("openai:unknown")).toBeUndefined();
  });

  it("takes limits and prices from the profiles it is given", () => {
    const price = { input: 1, output: 2, currency: "EUR" };
    const profiles = (name: string): ModelProfile => profileOf(name, { "x:y": { price, context: 9000 } });
    expect(modelPrice("x:y", profiles)).toEqual({ input: 1, output: 2 });
    expect(modelLimits("x:y", undefined, profiles)).toEqual({ context: 9000, output: 9000 });
  });
});

describe("a model's name", () => {
  it.each([
    ["offline", true],
    ["ollama:qwen2.5:7b", true],
    ["siliconflow:Pro/deepseek-ai/DeepSeek-R1", true],
    ["gpt-4o", false],
    ["openai:", false],
    ["openai:a b", false],
    ["openai:gpt*", false],
    ["OpenAI:gpt", false],
    ["", false],
  ])("“%s”: %s", (name, isName) => {
    expect(ModelName.safeParse(name).success).toBe(isName);
  });
});
