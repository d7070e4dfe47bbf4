import { builtInIdentities, identityMinimal } from "./identity/identity-profiles.ts";
import { type PromptParts, fill, type Template, type Value, type Values } from "./template.ts";

/** The source of prompts: built-in texts or overrides. */
export interface Prompts {
  /** A template's filled text, followed by its output format. */
  text<Required extends string, Optional extends string>(
    template: Template<Required, Optional>,
    values: Values<Required, Optional>,
  ): string;
  /** The filled identity of a profile (L0), without its protection. Never empty. */
  identity(profile: string, values: Readonly<Record<string, Value>>): string;
  /** Called with the pieces of every system text; absent without a log. */
  onSystemText?: (pieces: readonly { name: string; text: string }[]) => void;
}

/** Composes a template's text; `contentOf` returns its current content. */
export function compose(
  template: Template,
  values: Readonly<Record<string, unknown>>,
  contentOf: (template: Template) => string,
): string {
  const text = fill(contentOf(template), [...template.required, ...template.optional], values);
  return template.format === null ? text : `${text}\n\n${contentOf(template.format.template)}`;
}

/** Fills an identity; an empty result falls back to the minimal identity. */
export function identityText(
  content: string,
  variables: readonly string[],
  values: Readonly<Record<string, unknown>>,
): string {
  const text = fill(content, variables, values).trim();
  return text === "" ? identityMinimal.content : text;
}

/** Built-in texts without overrides. */
export function createBuiltInPrompts({
  identities,
  identityVariables,
}: Pick<PromptParts, "identities" | "identityVariables">): Prompts {
  return {
    text: (template, values) => compose(template, values, ({ content }) => content),
    identity: (profile, values) => {
      const { content, required, optional } = identities[profile] ?? identityMinimal;
      return identityText(content, [...required, ...optional, ...identityVariables], values);
    },
  };
}

/** The built-in texts of every run. */
export const builtInPrompts: Prompts = createBuiltInPrompts({
  identities: builtInIdentities,
  identityVariables: [],
});
