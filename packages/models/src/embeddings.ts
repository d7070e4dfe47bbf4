import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import { AppError } from "@millrace/engine/errors/errors";
import { fetchWithin } from "./resilience/fetch-within.ts";
import { noKey, targetOf } from "./load-model.ts";
import { toModelError } from "./model-error.ts";
import type { ModelRegistry, ResolvedModel } from "./registry/registry.ts";

/** Embeds each text. Throws AppErrors, and the signal's reason. */
export type Embed = (texts: readonly string[], signal: AbortSignal) => Promise<number[][]>;

/** OpenAI models that accept `dimensions`. */
const hasDimensions = /^text-embedding-3/u;

/** The model that has the role `embedding`. */
export interface EmbeddingRole {
  /** `undefined`: no model has the role now. */
  model(): string | undefined;
  /** Throws `embedBy`'s errors, and `config` if no model has the role. */
  embed: Embed;
}

/** Uses the model that has the role at each call. */
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
 * Embeds with a model, `provider:name`, using its provider's current address and key: Ollama's API for Ollama, OpenAI's
 * for others. `setting` names the model's setting; `dims` is the requested vector length, if supported. Throws
 * `invalid_parameter` for an unknown provider, `config` for one without embeddings.
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
      // LangChain does not validate the response.
      if (error instanceof TypeError && error.message.startsWith("Cannot read properties"))
        throw noVectors(model, error);
      throw toModelError(error, targetOf(model, name, provider));
    }
  };
}

/** Checks that there is one vector per text, all of the same length. */
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
  { provider, name, connection }: ResolvedModel,
  dims: number | undefined,
  signal: AbortSignal,
): Promise<EmbeddingsInterface> {
  const { address, apiKey, timeouts } = connection;
  const within = fetchWithin(timeouts.connectMs);
  const send: typeof fetch = (input, init) => {
    const signals = init?.signal instanceof AbortSignal ? [init.signal, signal] : [signal];
    // Redirects are refused: an unchecked address would get our key.
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
    // Self-hosted servers support no other format.
    encodingFormat: "float",
    stripNewLines: false,
    ...(dims !== undefined && provider.name === "openai" && hasDimensions.test(name) ? { dimensions: dims } : {}),
    configuration: { baseURL: address, logLevel: "off", fetch: send },
  });
}
