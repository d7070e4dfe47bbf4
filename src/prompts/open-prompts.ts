import { join } from "node:path";
import type { Logger } from "@millrace/engine/logger";
import { IdentityManager } from "./identity/identity-manager.ts";
import { PromptManager } from "./manager.ts";
import type { PromptParts } from "./template.ts";
import type { Prompts } from "./prompts.ts";

/** A server's prompts with their editors. */
export interface EditablePrompts extends Prompts {
  templates: PromptManager;
  identities: IdentityManager;
}

/**
 * Opens the prompts of a data folder, whose folder `prompts` may be missing. Warnings name the file. The sizes of
 * system texts are logged, never their content; `countTokens` counts.
 */
export function openPrompts(
  dataDir: string,
  parts: PromptParts,
  logger: Pick<Logger, "warn" | "debug">,
  countTokens: (text: string) => number,
): EditablePrompts {
  const folder = join(dataDir, "prompts");
  const ofFile = (warning: { file: string; problem: string }): void => logger.warn(warning, "prompt_override_not_used");
  const templates = new PromptManager(folder, parts, ofFile);
  const identities = new IdentityManager(folder, parts, {
    ofFile,
    ofValues: (warning) => logger.warn(warning, "identity_variable_missing"),
  });
  return {
    templates,
    identities,
    text: (template, values) => templates.text(template, values),
    identity: (profile, values) => identities.filled(profile, values),
    onSystemText: (pieces) => {
      const text = pieces.map((piece) => piece.text).join("");
      const facts = {
        layers: pieces.map(({ name }) => name),
        characters: text.length,
        estimated_tokens: countTokens(text),
      };
      logger.debug(facts, "system_prompt");
    },
  };
}
