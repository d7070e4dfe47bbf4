import { builtInIdentities } from "./identity/identity-profiles.ts";
import { templates } from "./index.ts";
import type { Template } from "./template.ts";

/** The texts of a server: those of every run, and those of its toolkits. */
export interface PromptParts {
  /** By name, in the order in which they are listed. */
  templates: Readonly<Record<string, Template>>;
  /** By profile. */
  identities: Readonly<Record<string, Template>>;
  /** Variables that every identity may use besides its own. */
  identityVariables: readonly string[];
  /** Templates that the node `action` uses for preset actions, by name. */
  actionTemplates: readonly string[];
}

/** The texts without any toolkit. */
export const coreParts: PromptParts = {
  templates,
  identities: builtInIdentities,
  identityVariables: [],
  actionTemplates: [],
};
