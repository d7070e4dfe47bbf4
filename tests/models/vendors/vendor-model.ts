import { readFileSync } from "node:fs";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { loadConfig } from "../../../src/config.ts";
import { createModel } from "../../../src/models/load-model.ts";
import { openAiCompatible } from "../../../src/models/openai-compatible.ts";
import { profileOf, type ProfileRows } from "../../../src/models/profiles.ts";
import type { ModelOptions } from "../../../src/models/provider.ts";
import { timeoutsOf } from "../../../src/models/timeouts.ts";
import type { ModelServer } from "../../support/model-server.ts";

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

/** The client of a vendor, at the scripted server; `own:` is a server of the user's own, with `rows` said of its models. */
export function vendorModel(
  name: string,
  server: ModelServer,
  options: ModelOptions = {},
  rows: ProfileRows = {},
): BaseChatModel {
  const all = { ...options, fetch: towards(server) };
  if (!name.startsWith("own:")) return createModel(name, all, config);
  const own = openAiCompatible({ title: "Own", baseUrl: "http://127.0.0.1:1/v1" });
  const profile = profileOf(name, rows);
  const connection = { address: own.baseUrl, apiKey: undefined, timeouts: timeoutsOf(profile, false), profile };
  return own.create(name.slice("own:".length), all, connection);
}

/** What a vendor has sent, byte for byte. */
export function wire(file: string): string {
  return readFileSync(new URL(`../wire/${file}`, import.meta.url), "utf8");
}
