import type { AppError } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import { isLocal } from "../registry/known-models.ts";
import type { ModelRegistry } from "../registry/registry.ts";
import { OllamaService } from "./service.ts";

/** The service of the provider `ollama`, whose models are told to the registry. Close it. */
export function openOllama(models: ModelRegistry, logger: Pick<Logger, "info" | "warn">): OllamaService {
  return new OllamaService({
    place() {
      const provider = models.provider("ollama");
      // A built-in provider with an address of its own.
      return { address: provider?.address ?? "", isHere: provider !== undefined && isLocal(provider) };
    },
    register: (rows) => models.setFound(rows),
    logger,
  });
}

/** Tells the service how the requests to its models end; for `ModelServices`. */
export function tellOllama(ollama: OllamaService): (model: string, error?: AppError) => void {
  return (model, error) => {
    if (model.startsWith("ollama:")) ollama.heard(error);
  };
}
