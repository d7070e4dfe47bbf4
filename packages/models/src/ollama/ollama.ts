import type { ChatOllamaInput } from "@langchain/ollama";
import { callDefaults } from "../call-defaults.ts";
import { fetchWithin } from "../resilience/fetch-within.ts";
import { failureAdvice } from "./advice.ts";
import { showModel } from "./api.ts";
import { WatchedOllama } from "./watched-ollama.ts";
import type { Connection, ModelFacts, Provider } from "../provider.ts";
import { ollamaQuirks } from "../vendors/quirks.ts";

/** Models of a local Ollama: no key. The window is set, since Ollama's own default cuts silently. */
export const ollama: Provider = {
  title: "Ollama",
  isLocal: true,
  baseUrl: "http://127.0.0.1:11434",
  environment: (config) => ({ baseUrl: config.ollamaBaseUrl }),
  create(name, options, { address, timeouts, profile }) {
    const { temperature, maxTokens } = callDefaults(profile, options);
    const fields: ChatOllamaInput = {
      model: name,
      ...(address === undefined ? {} : { baseUrl: address }),
      maxRetries: 0,
      numCtx: profile.context,
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { numPredict: maxTokens }),
      fetch: options.fetch ?? fetchWithin(timeouts.connectMs),
    };
    return new WatchedOllama(fields, { quirks: ollamaQuirks, profile, options }, timeouts);
  },
  lookUp,
  unreachableHint: "Start the service with `ollama serve`, and check its address: OLLAMA_BASE_URL.",
  unknownModelHint: (name) => `Pull the model with \`ollama pull ${name}\`.`,
  advise: failureAdvice,
};

async function lookUp(
  name: string,
  { address = "" }: Connection,
  { signal, fetch: ask }: { signal: AbortSignal; fetch?: typeof fetch },
): Promise<ModelFacts> {
  const { details, contextLength } = await showModel(name, { address, signal, fetch: ask });
  return {
    ...(details.parameter_size === undefined ? {} : { parameterSize: details.parameter_size }),
    ...(contextLength === undefined ? {} : { contextLength }),
  };
}
