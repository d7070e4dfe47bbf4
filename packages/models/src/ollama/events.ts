import type { OllamaStatus } from "./health.ts";
import type { KnownModels } from "./installed-models.ts";

/** Events about changes of the service. */
export type OllamaEvent =
  | { type: "ollama_status"; status: OllamaStatus; former: OllamaStatus | null; version: string | null; time: string }
  | { type: "ollama_models"; models: string[]; added: string[]; removed: string[]; time: string };

/** The status changed. */
export function statusEvent(
  { status, version, checked_at: time }: { status: OllamaStatus; version: string | null; checked_at: string },
  former: OllamaStatus | null,
): OllamaEvent {
  return { type: "ollama_status", status, former, version, time };
}

/** The models changed. */
export function modelsEvent(known: KnownModels, before: KnownModels, time: string): OllamaEvent {
  const models = [...known.keys()];
  return {
    type: "ollama_models",
    models,
    added: models.filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !known.has(name)),
    time,
  };
}
