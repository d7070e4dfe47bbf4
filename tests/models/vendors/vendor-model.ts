import { readFileSync } from "node:fs";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { loadConfig } from "@millrace/engine/config/config";
import { createModel } from "@millrace/models/load-model";
import { ollama } from "@millrace/models/ollama/ollama";
import { openAiCompatible } from "@millrace/models/openai-compatible";
import { profileOf, type ProfileRows } from "@millrace/models/registry/profiles";
import type { ModelOptions } from "@millrace/models/provider";
import { timeoutsOf } from "@millrace/models/resilience/timeouts";
import type { ModelServer } from "@millrace/testing/model-server";

const config = loadConfig({
  OPENAI_API_KEY: "test-key",
  ZHIPU_API_KEY: "test-key",
  SILICONFLOW_API_KEY: "test-key",
  DEEPSEEK_API_KEY: "test-key",
  DASHSCOPE_API_KEY: "test-key",
});

/** Sends what would go to the vendor to the scripted server. */
export function towards(server: ModelServer): typeof fetch {
  return (input, init) => {
    const address = new URL(input instanceof Request ? input.url : input);
    return fetch(`${server.ollamaUrl}${address.pathname}`, init);
  };
}

/**
 * The client of a vendor, at the scripted server; `own:` is a server of the user's own. With `rows` said of the models of
 * the last, and of Ollama, where a server has reported what its models can.
 */
export function vendorModel(
  name: string,
  server: ModelServer,
  options: ModelOptions = {},
  rows: ProfileRows = {},
): BaseChatModel {
  const all = { ...options, fetch: towards(server) };
  const maker = name.startsWith("ollama:")
    ? ollama
    : openAiCompatible({ title: "Own", baseUrl: "http://127.0.0.1:1/v1" });
  if (maker !== ollama && !name.startsWith("own:")) return createModel(name, all, config);
  const profile = profileOf(name, rows);
  const connection = { address: maker.baseUrl, apiKey: undefined, timeouts: timeoutsOf(profile, false), profile };
  return maker.create(name.slice(name.indexOf(":") + 1), all, connection);
}

/** What a vendor has sent, byte for byte. */
export function wire(file: string): string {
  return readFileSync(new URL(`../wire/${file}`, import.meta.url), "utf8");
}

/** A part of the conversation that every vendor has recorded, streamed. */
export function wireOf(file: string, part: string): string {
  return wire(`${file}-${part}.${file === "ollama" ? "ndjson" : "sse"}`);
}
