import { builtInIdentities, identityMinimal } from "./identity/identity-profiles.ts";
import { type PromptParts, fill, type Template, type Value, type Values } from "./template.ts";

/** Where prompts come from: the built-in texts, or those that somebody has put in their place. */
export interface Prompts {
  /** The filled text of a template, with its output format behind it. */
  text<Required extends string, Optional extends string>(
    template: Template<Required, Optional>,
    values: Values<Required, Optional>,
  ): string;
  /** The filled identity of a profile (L0), without its protection. Never empty. */
  identity(profile: string, values: Readonly<Record<string, Value>>): string;
  /** Told of every system text that is made, piece by piece; absent where nobody reads a log. */
  onSystemText?: (pieces: readonly { name: string; text: string }[]) => void;
}

/** Puts a template's text together; `contentOf` says what each template's text is at present. */
export function compose(
  template: Template,
  values: Readonly<Record<string, unknown>>,
  contentOf: (template: Template) => string,
): string {
  const text = fill(contentOf(template), [...template.required, ...template.optional], values);
  return template.format === null ? text : `${text}\n\n${contentOf(template.format.template)}`;
}

/** Fills an identity; one that says nothing gives way to the shortest there is. */
export function identityText(
  content: string,
  variables: readonly string[],
  values: Readonly<Record<string, unknown>>,
): string {
  const text = fill(content, variables, values).trim();
  return text === "" ? identityMinimal.content : text;
}

/** The built-in texts, where nobody can override them. */
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
