import type { Config } from "@millrace/engine/config/config";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import type { ReadProfile } from "@millrace/models/registry/model-profile";

/** The model of a session's next run, model profiles, and the operator's context limit in tokens. */
export interface DefaultModel {
  model: string;
  profile: ReadProfile;
  contextLimit: number | undefined;
}

/** The server's current default model. */
export function defaultModel({ models, config }: { models: ModelRegistry; config: Config }): DefaultModel {
  return { model: models.roles().main, profile: models.profile, contextLimit: config.contextLimit };
}
