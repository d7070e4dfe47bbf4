import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Config, loadConfig } from "@millrace/engine/config/config";
import { createModel } from "@millrace/models/load-model";
import { ModelRegistry } from "@millrace/models/registry/registry";
import { projectFolder } from "../support/source-files.ts";

let folder: string;
let config: Config;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-packages-"));
  config = { ...loadConfig({}), graphs: join(folder, "langgraph.json") };
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

/** Says with which fields, which options and which tools it was called. */
const fakeAnthropic = `
const { BaseChatModel } = require("@langchain/core/language_models/chat_models");
const { AIMessage, AIMessageChunk } = require("@langchain/core/messages");
const { ChatGenerationChunk } = require("@langchain/core/outputs");
exports.ChatAnthropic = class extends BaseChatModel {
  constructor(fields) {
    if (fields.model === "wrong") throw new Error("no such model");
    super(fields);
    this.fields = fields;
  }
  _llmType() { return "anthropic"; }
  bindTools(tools, more) { return this.withConfig({ tools: tools.map(({ name }) => ({ input: name })), ...more }); }
  text(options) { return JSON.stringify({ fields: this.fields, tools: options.tools, choice: options.tool_choice }); }
  async _generate(_messages, options) {
    const text = this.text(options);
    return { generations: [{ text, message: new AIMessage(text) }] };
  }
  async *_streamResponseChunks(_messages, options) {
    const text = this.text(options);
    yield new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) });
  }
};
`;

async function install(name: string, code: string): Promise<void> {
  const place = join(folder, "node_modules", name);
  await mkdir(place, { recursive: true });
  await writeFile(join(place, "package.json"), JSON.stringify({ name, version: "1.0.0", main: "index.cjs" }));
  await writeFile(join(place, "index.cjs"), code);
  await symlink(
    join(projectFolder, "node_modules/@langchain/core"),
    join(folder, "node_modules/@langchain/core"),
  ).catch(() => undefined);
}

const tool = { name: "look", description: "Looks", schema: { type: "object", properties: {} } };

it("finds a vendor's key in the file that its variable names", async () => {
  await install("@langchain/anthropic", fakeAnthropic);
  const file = join(folder, "key");
  await writeFile(file, "first\n");
  const ofFile = { ...loadConfig({ ANTHROPIC_API_KEY_FILE: file }), graphs: config.graphs };
  const keyOf = async (): Promise<unknown> =>
    JSON.parse((await createModel("anthropic:claude-9", {}, ofFile).invoke([new HumanMessage("Hello")])).text);
  expect(await keyOf()).toMatchObject({ fields: { apiKey: "first" } });
  await writeFile(`${file}.new`, "second\n");
  await rename(`${file}.new`, file);
  expect(await keyOf()).toMatchObject({ fields: { apiKey: "second" } });
  expect(new ModelRegistry(ofFile).keys()).toContain("second");
});

describe("a vendor whose LangChain package is installed beside the langgraph.json", () => {
  it("is a provider: its model is made with the run's options, and gets tools in its own form", async () => {
    await install("@langchain/anthropic", fakeAnthropic);
    process.env["ANTHROPIC_API_KEY"] = "the-key";
    const model = createModel("anthropic:claude-9", { temperature: 0.5, maxTokens: 1_000 }, config);
    const bound = model.bindTools?.([tool], { tool_choice: "look" });
    const expected = {
      fields: { model: "claude-9", temperature: 0.5, maxTokens: 1_000, apiKey: "the-key", maxRetries: 0 },
      tools: [{ input: "look" }],
      choice: "look",
    };
    const whole = await bound?.invoke([new HumanMessage("Look.")]);
    expect(JSON.parse(whole?.text ?? "")).toMatchObject(expected);
    const chunks = (await bound?.stream([new HumanMessage("Look.")])) ?? [];
    const streamed = (await Array.fromAsync(chunks)).map(({ text }) => text).join("");
    expect(JSON.parse(streamed)).toMatchObject(expected);
    const registry = new ModelRegistry(config);
    expect(registry.providerNames()).toContain("anthropic");
    expect(registry.keys()).toContain("the-key");
  });

  it("asks for its key, and says what keeps its model from being made", async () => {
    await install("@langchain/anthropic", fakeAnthropic);
    delete process.env["ANTHROPIC_API_KEY"];
    expect(() => createModel("anthropic:claude-9", {}, config)).toThrow(
      expect.objectContaining({ code: "auth", message: expect.stringContaining("ANTHROPIC_API_KEY") }),
    );
    process.env["ANTHROPIC_API_KEY"] = "the-key";
    expect(() => createModel("anthropic:wrong", {}, config)).toThrow(
      "@langchain/anthropic is installed, and its ChatAnthropic cannot be made: no such model",
    );
    await install("@langchain/mistralai", "exports.SomethingElse = 1;");
    process.env["MISTRAL_API_KEY"] = "the-key";
    expect(() => createModel("mistral:large", {}, config)).toThrow("its ChatMistralAI cannot be made");
  });
});

describe("a vendor whose package is not installed", () => {
  it.each([
    ["anthropic:claude-9", "@langchain/anthropic"],
    ["gemini:flash", "@langchain/google-genai"],
    ["google-vertexai:flash", "@langchain/google-vertexai"],
    ["mistral:large", "@langchain/mistralai"],
    ["bedrock:nova", "@langchain/aws"],
    ["groq:llama", "@langchain/groq"],
  ])("is reported for %s in one line that names the package", (model, name) => {
    expect(() => createModel(model, {}, config)).toThrow(
      expect.objectContaining({
        code: "invalid_parameter",
        message: `The model "${model}" needs a package that is not installed.`,
        suggestion: `npm install ${name} in ${folder}, then start again.`,
      }),
    );
    expect(new ModelRegistry(config).providerNames()).not.toContain(model.split(":", 1)[0]);
  });
});
