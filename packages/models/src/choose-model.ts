import { z } from "zod";
import type { Config } from "@millrace/engine/config/config";

/** Configured value for automatic choice. */
const auto = "auto";

/** The model per vendor, used if its key is set, in this order. */
const vendorModels: readonly [key: string, model: string][] = [
  ["OPENAI_API_KEY", "openai:gpt-5-mini"],
  ["ZHIPU_API_KEY", "zhipu:glm-4.7"],
  ["DEEPSEEK_API_KEY", "deepseek:deepseek-chat"],
  ["DASHSCOPE_API_KEY", "qwen:qwen-plus"],
  ["SILICONFLOW_API_KEY", "siliconflow:deepseek-ai/DeepSeek-V3"],
];

/** The model that `auto` chooses if only this key is set; `undefined` for a vendor without one. */
export function defaultModelOf(keyName: string | undefined): string | undefined {
  return vendorModels.find(([key]) => key === keyName)?.[1];
}

/** Milliseconds for Ollama to answer. */
const ollamaTimeout = 1000;

const Tags = z.object({ models: z.array(z.object({ name: z.string(), modified_at: z.string().default("") })) });
const Shown = z.object({ capabilities: z.array(z.string()).default([]) });

/** A model and the reason for it. */
export interface Choice {
  model: string;
  why: string;
}

/**
 * The server's model: the configured one; with `auto` that of the vendor whose key is set, else one of a running Ollama
 * that can call tools, else the offline model.
 */
export async function chooseModel({ model, given }: Config): Promise<Choice> {
  if (model !== auto) return { model, why: "MILLRACE_MODEL says so" };
  return choiceByKey(given) ?? (await choiceOfOllama(given)) ?? standIn;
}

/** Like `chooseModel`, but synchronous: by keys alone, without Ollama. */
export function withModelByKey(config: Config): Config {
  return config.model === auto ? { ...config, model: (choiceByKey(config.given) ?? standIn).model } : config;
}

const standIn: Choice = {
  model: "offline",
  why: "a rule-based stand-in, no language model; set OPENAI_API_KEY or another vendor's key, run Ollama, or set MILLRACE_MODEL",
};

function choiceByKey(given: Config["given"]): Choice | undefined {
  const found = vendorModels.find(([key]) => given[key] !== undefined);
  // An OpenAI-compatible server has other models.
  const [key, model] = found ?? [];
  if (key === undefined || model === undefined) return undefined;
  if (key === "OPENAI_API_KEY" && given["OPENAI_BASE_URL"] !== undefined) {
    return { model, why: "OPENAI_API_KEY is set; OPENAI_BASE_URL may need another model" };
  }
  return { model, why: `${key} is set` };
}

/** The newest model of a running Ollama that can call tools. */
async function choiceOfOllama(given: Config["given"]): Promise<Choice | undefined> {
  const base = (given["OLLAMA_BASE_URL"] ?? "http://127.0.0.1:11434").replace(/\/+$/u, "");
  const signal = AbortSignal.timeout(ollamaTimeout);
  try {
    const { models } = Tags.parse(await (await fetch(`${base}/api/tags`, { signal })).json());
    for (const { name } of models.toSorted((one, other) => (one.modified_at < other.modified_at ? 1 : -1))) {
      const body = JSON.stringify({ model: name });
      const response = await fetch(`${base}/api/show`, { method: "POST", body, signal });
      if (Shown.parse(await response.json()).capabilities.includes("tools")) {
        return { model: `ollama:${name}`, why: `Ollama runs at ${base}` };
      }
    }
    return undefined;
  } catch {
    // No Ollama is reachable.
    return undefined;
  }
}
