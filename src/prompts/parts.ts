import { builtInIdentities } from "./identity/identity-profiles.ts";
import { templates } from "./index.ts";
import type { PromptParts } from "./template.ts";

/** The texts without any toolkit. */
export const coreParts: PromptParts = {
  templates,
  identities: builtInIdentities,
  identityVariables: [],
  actionTemplates: [],
};
