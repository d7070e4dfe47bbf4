import type { Config } from "@millrace/engine/config/config";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import type { ReadProfile } from "@millrace/models/registry/model-profile";

/** The model that a session's next run would ask, what is known of models, and the operator's limit of a window in tokens. */
export interface UsualModel {
  model: string;
  profile: ReadProfile;
  contextLimit: number | undefined;
}

/** The server's usual model at this moment. */
export function usualModel({ models, config }: { models: ModelRegistry; config: Config }): UsualModel {
  return { model: models.roles().main, profile: models.profile, contextLimit: config.contextLimit };
}
