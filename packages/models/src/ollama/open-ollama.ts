import type { AppError } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import type { PeerNotifications } from "@millrace/engine/storage/cluster";
import { isLocal } from "../registry/known-models.ts";
import type { ModelRegistry } from "../registry/registry.ts";
import { OllamaService } from "./service.ts";

/** Of notifications between servers. */
const topic = "ollama";

/**
 * The service of the provider `ollama`, which reports its models to the registry. When one server finds a change, the others
 * check, too. Close it.
 */
export function openOllama(
  models: ModelRegistry,
  logger: Pick<Logger, "info" | "warn">,
  notifications: PeerNotifications,
): OllamaService {
  const service = new OllamaService({
    place() {
      const provider = models.provider("ollama");
      // A built-in provider with its own address.
      return { address: provider?.address ?? "", isHere: provider !== undefined && isLocal(provider) };
    },
    register: (rows) => models.setFound(rows),
    onChange: () => void notifications.send("all", { type: "agent", topic }),
    logger,
  });
  notifications.onNotification((notification) => {
    if (notification.type === "agent" && notification.topic === topic) service.lookSoon();
  });
  return service;
}

/** Reports the end of each request to its models to the service; for `ModelServices`. */
export function reportToOllama(ollama: OllamaService): (model: string, error?: AppError) => void {
  return (model, error) => {
    if (model.startsWith("ollama:")) ollama.requestEnded(error);
  };
}
