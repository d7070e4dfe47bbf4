import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { AppError } from "@millrace/engine/errors/errors";
import { fetchWithin } from "./resilience/fetch-within.ts";
import { noKey, targetOf } from "./load-model.ts";
import { toModelError } from "./model-error.ts";
import type { ModelRegistry, ReachedModel } from "./registry/registry.ts";

/** Makes a vector of each text. Throws AppErrors, and the signal's reason. */
export type Embed = (texts: readonly string[], signal: AbortSignal) => Promise<number[][]>;

/** Models of OpenAI that are told how long their vectors are to be. */
const hasDimensions = /^text-embedding-3/u;

/** The model that has the role `embedding`. */
export interface EmbeddingRole {
  /** `undefined`: no model has the role now. */
  model(): string | undefined;
  /** Throws as `embedBy` does, and `config` where no model has the role. */
  embed: Embed;
}

/** Asks whichever model has the role at each call. */
export function embeddingRole(models: ModelRegistry): EmbeddingRole {
  const named = { setting: "MILLRACE_EMBEDDING_MODEL" };
  const model = (): string | undefined => models.roles().embedding;
  return {
    model,
    embed: async (texts, signal) => {
      const name = model();
      if (name !== undefined) return checked(name, texts, await embedBy(name, models, named)(texts, signal));
      throw new AppError("config", "No model makes vectors on this server.", {
        suggestion: "The operator names one with MILLRACE_EMBEDDING_MODEL, such as openai:text-embedding-3-small.",
      });
    },
  };
}

/**
 * Embeds by a model, `provider:name`, at the address and with the key that its provider has at each call: Ollama by its
 * own way, all others by OpenAI's. `setting` is where the model is named; `dims`, how long vectors are to be, where that
 * can be said. Throws `invalid_parameter` for a name that names no provider, and `config` for one that has no such models.
 */
export function embedBy(
  model: string,
  models: ModelRegistry,
  { dims, setting }: { dims?: number; setting: string },
): Embed {
  if (models.reach(model).connection.address === undefined) {
    throw new AppError("config", `The model ${model} makes no vectors.`, {
      suggestion: `Name one that does in ${setting}, such as "openai:text-embedding-3-small".`,
    });
  }
  return async (texts, signal) => {
    const reached = models.reach(model);
    const { provider, name } = reached;
    if (provider.needsKey && provider.key === undefined) throw noKey(name, provider);
    try {
      const client = await clientOf(reached, dims, signal);
      return await client.embedDocuments([...texts]);
    } catch (error) {
      // LangChain takes the answer apart without looking.
      if (error instanceof TypeError && error.message.startsWith("Cannot read properties"))
        throw noVectors(model, error);
      throw toModelError(error, targetOf(model, name, provider));
    }
  };
}

/** Each text has one vector, all of one length. */
function checked(model: string, texts: readonly string[], vectors: readonly number[][]): number[][] {
  const [first = []] = vectors;
  const isWhole = ({ length }: number[]): boolean => length > 0 && length === first.length;
  if (vectors.length !== texts.length || !vectors.every(isWhole)) throw noVectors(model);
  return [...vectors];
}

function noVectors(model: string, cause?: unknown): AppError {
  return new AppError("invalid_format", `The answer of ${model} has not a vector for each text.`, {
    suggestion: "Check that the address is that of a server with /embeddings, and that the model makes vectors.",
    cause,
  });
}

async function clientOf(
  { provider, name, connection }: ReachedModel,
  dims: number | undefined,
  signal: AbortSignal,
): Promise<EmbeddingsInterface> {
  const { address, apiKey, timeouts } = connection;
  const within = fetchWithin(timeouts.connectMs);
  const send: typeof fetch = (input, init) => {
    const signals = init?.signal instanceof AbortSignal ? [init.signal, signal] : [signal];
    // Nobody has checked where the request would be sent on to, with our key.
    return within(input, { ...init, signal: AbortSignal.any(signals), redirect: "error" });
  };
  if (provider.name === "ollama") {
    const { OllamaEmbeddings } = await import("@langchain/ollama");
    const at = address === undefined ? {} : { baseUrl: address };
    return new OllamaEmbeddings({ model: name, ...at, maxRetries: 0, fetch: send });
  }
  const { OpenAIEmbeddings } = await import("@langchain/openai");
  return new OpenAIEmbeddings({
    model: name,
    apiKey: apiKey ?? "none",
    maxRetries: 0,
    // Servers of one's own know no other.
    encodingFormat: "float",
    stripNewLines: false,
    ...(dims !== undefined && provider.name === "openai" && hasDimensions.test(name) ? { dimensions: dims } : {}),
    configuration: { baseURL: address, logLevel: "off", fetch: send },
  });
}
