/** A server's texts: the general ones and those of its toolkits. */
export interface PromptParts {
  /** By name, in the order in which they are listed. */
  templates: Readonly<Record<string, Template>>;
  /** By profile. */
  identities: Readonly<Record<string, Template>>;
  /** Variables available to every identity besides its own. */
  identityVariables: readonly string[];
  /** Templates that the node `action` uses for preset actions, by name. */
  actionTemplates: readonly string[];
}
/** The value of a variable. Objects and lists become JSON; `null` and missing optional values become empty. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };

/** A prompt's text with its variables. `content` is English; the placeholders are `{name}` and `{name.part}`. */
export interface Template<Required extends string = string, Optional extends string = string> {
  /** Unique, in snake_case; also the name of a file that overrides it. */
  readonly name: string;
  readonly title: { readonly en: string; readonly zh: string };
  readonly description: string;
  /** Must have a value, and must occur in the content. */
  readonly required: readonly Required[];
  readonly optional: readonly Optional[];
  /** Cannot be overridden, because it protects the others. */
  readonly fixed: boolean;
  /** The output format, appended to the content. */
  readonly format: OutputFormat | null;
  readonly content: string;
}

/** An output format. */
export interface OutputFormat {
  readonly name: string;
  readonly template: Template;
}

/** The values of a template's variables. */
export type Values<Required extends string, Optional extends string> = Readonly<
  Record<Required, Value> & Partial<Record<Optional, Value | undefined>>
>;

/** Makes a template; its variables get their types from the lists. */
export function defineTemplate<const Required extends string = never, const Optional extends string = never>(template: {
  name: string;
  title: { en: string; zh: string };
  description: string;
  required?: readonly Required[];
  optional?: readonly Optional[];
  fixed?: boolean;
  format?: OutputFormat;
  content: string;
}): Template<Required, Optional> {
  const { required = [], optional = [], fixed = false, format = null, ...rest } = template;
  return { ...rest, required, optional, fixed, format };
}

/** Valid placeholder names. */
export const variableName = /^[A-Za-z_]\w{0,63}$/u;
/** A variable in a text, with its parts. */
export const placeholder = /\{([A-Za-z_]\w*(?:\.\w+)*)\}/gu;
/** A trimmed line that only shows one variable. */
export const tellingLine = /^(?:[^{}:]*:\s*)?\{([A-Za-z_]\w*(?:\.\w+)*)\}\.?$/u;

/**
 * Fills a text. Only names in `variables` are placeholders; other braces, as in JSON or SPICE, and braces in values
 * stay. A line that only shows a value (`{name}`, `Label: {name}`) is dropped if empty.
 */
export function fill(content: string, variables: readonly string[], values: Readonly<Record<string, unknown>>): string {
  const known = new Set(variables);
  const isKnown = (path: string): boolean => known.has(rootOf(path));
  const lines = content.split("\n").filter((line) => {
    const variable = tellingLine.exec(line.trim())?.[1];
    return variable === undefined || !isKnown(variable) || valueText(values, variable) !== "";
  });
  return lines
    .join("\n")
    .replaceAll(placeholder, (written, path: string) => (isKnown(path) ? valueText(values, path) : written));
}

/** The names between braces in a text, without their parts, each once, in order. */
export function placeholdersOf(content: string): string[] {
  return [...new Set([...content.matchAll(placeholder)].map(([, path]) => rootOf(path ?? "")))];
}

function rootOf(path: string): string {
  return path.split(".")[0] ?? path;
}

function valueText(values: Readonly<Record<string, unknown>>, path: string): string {
  let value: unknown = values;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return "";
    // Checked just above: an object with this key of its own.
    value = (value as Record<string, unknown>)[name];
  }
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
