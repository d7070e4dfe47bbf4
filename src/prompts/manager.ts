import { join } from "node:path";
import { AppError } from "@millrace/engine/errors/errors";
import { checkContent, checkValues, hasError, type PromptProblem } from "./check-content.ts";
import { identityMinimal } from "./identity/identity-profiles.ts";
import { nodesOfTemplate, templatesOfNode } from "./node-templates.ts";
import { OverrideFile, type WarnOfFile } from "@millrace/engine/config/override-file";
import type { PromptParts, Template, Values } from "./template.ts";
import { compose } from "./prompts.ts";

/** The source of a text: built in, custom, or built in because the custom one is unusable. */
export type PromptSource = "builtin" | "custom" | "fallback";

/** A template without its text. */
export interface PromptMetadata {
  name: string;
  title: { readonly en: string; readonly zh: string };
  description: string;
  source: PromptSource;
  /** Whether users can override it. */
  editable: boolean;
  /** The name of its output format. */
  format: string | null;
  /** The nodes that use it. */
  nodes: string[];
  variables: string[];
  required_variables: string[];
  /** Problems of the override. */
  problems: PromptProblem[];
}

/** A template with its current and built-in texts, both unfilled. */
export interface PromptRecord extends PromptMetadata {
  content: string;
  default_content: string;
}

/** Whether a text is valid, and its filled form. */
export interface PromptVerdict {
  valid: boolean;
  problems: PromptProblem[];
  text: string;
}

interface Override {
  content: string;
  problems: PromptProblem[];
}

/**
 * The templates with users' overrides: a file `<name>.txt` in the folder replaces a template's text only. Reading never
 * fails: unusable overrides fall back to the built-in text.
 */
export class PromptManager {
  readonly #parts: PromptParts;
  readonly #files: Map<string, OverrideFile<Override>>;

  constructor(folder: string, parts: PromptParts, warn: WarnOfFile) {
    this.#parts = parts;
    this.#files = new Map(
      Object.values(parts.templates)
        .filter((template) => this.#isEditable(template))
        .map((template) => [
          template.name,
          new OverrideFile(join(folder, `${template.name}.txt`), (text) => readOverride(template, text), warn),
        ]),
    );
  }

  /** The filled text of a template, with its output format behind it. */
  text<Required extends string, Optional extends string>(
    template: Template<Required, Optional>,
    values: Values<Required, Optional>,
  ): string {
    return compose(template, values, (one) => this.#current(one).content);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#parts.templates, name);
  }

  /** The names of all templates. */
  names(): string[] {
    return Object.keys(this.#parts.templates);
  }

  /** The names of the output formats that templates have. */
  formats(): string[] {
    return [...new Set(Object.values(this.#parts.templates).flatMap(({ format }) => format?.name ?? []))];
  }

  /** The names of those that a node uses, the main one first. */
  namesOfNode(node: string): readonly string[] {
    return templatesOfNode(node, this.#parts.actionTemplates);
  }

  /** A template's metadata, without its text. Throws `not_found`. */
  metadata(name: string): PromptMetadata {
    const { content: _content, default_content: _default, ...metadata } = this.get(name);
    return metadata;
  }

  /** One template with its text, unfilled. Throws `not_found`. */
  get(name: string): PromptRecord {
    const template = this.#template(name);
    return {
      name,
      title: template.title,
      description: template.description,
      editable: this.#isEditable(template),
      format: template.format?.name ?? null,
      nodes: nodesOfTemplate(name, this.#parts.actionTemplates),
      variables: [...template.required, ...template.optional],
      required_variables: [...template.required],
      default_content: template.content,
      ...this.#current(template),
    };
  }

  /** Validates and fills a text, default the current one. Throws `not_found`. */
  validate(name: string, given: { content?: string; variables?: Readonly<Record<string, unknown>> }): PromptVerdict {
    const template = this.#template(name);
    const content = given.content ?? this.#current(template).content;
    const problems = [
      ...checkContent(content, rulesOf(template)),
      ...(given.variables === undefined ? [] : checkValues(given.variables, rulesOf(template))),
    ];
    const text = compose(template, given.variables ?? {}, (one) =>
      one === template ? content : this.#current(one).content,
    );
    return { valid: !hasError(problems), problems, text };
  }

  /** Overrides a text, effective at once. Throws `not_found`, `permission`, `invalid_parameter`, `storage_*`. */
  save(name: string, content: string): PromptRecord {
    const template = this.#template(name);
    const problems = checkContent(content, rulesOf(template)).filter(({ severity }) => severity === "error");
    if (problems.length > 0) throw refused(`The text of ${name}`, problems);
    this.#fileOf(name).write(content);
    return this.get(name);
  }

  /** Restores the built-in text. Throws `not_found`, `permission`, `storage_*`. */
  reset(name: string): PromptRecord {
    this.#template(name);
    this.#fileOf(name).remove();
    return this.get(name);
  }

  /** Clears the cache: all files are read, and warned about, again. */
  reload(): void {
    for (const file of this.#files.values()) file.forget();
  }

  /** Throws `not_found`. */
  #template(name: string): Template {
    const { templates } = this.#parts;
    const template = Object.hasOwn(templates, name) ? templates[name] : undefined;
    if (template !== undefined) return template;
    throw new AppError("not_found", "There is no prompt of this name.", {
      suggestion: "GET /prompts lists their names.",
    });
  }

  #isEditable({ name, fixed }: Template): boolean {
    return !fixed && !this.#isIdentity(name);
  }

  /** Identities have their own store with custom variables: `identity-manager.ts`. */
  #isIdentity(name: string): boolean {
    return [...Object.values(this.#parts.identities), identityMinimal].some((identity) => identity.name === name);
  }

  #fileOf(name: string): OverrideFile<Override> {
    const file = this.#files.get(name);
    if (file !== undefined) return file;
    throw this.#isIdentity(name)
      ? new AppError("permission", `The prompt ${name} is an identity.`, { suggestion: "PUT /identity changes it." })
      : new AppError("permission", `The prompt ${name} is fixed: it protects the others.`);
  }

  #current(template: Template): Override & { source: PromptSource } {
    const found = this.#files.get(template.name)?.read() ?? { kind: "none" };
    switch (found.kind) {
      case "none":
        return { content: template.content, problems: [], source: "builtin" };
      case "value":
        return { ...found.value, source: "custom" };
      case "unusable":
        return {
          content: template.content,
          problems: [{ kind: "unusable", severity: "error", message: found.problem }],
          source: "fallback",
        };
    }
  }
}

/** An error that lists all problems. */
export function refused(what: string, problems: readonly PromptProblem[]): AppError {
  return new AppError("invalid_parameter", `${what} cannot be used: ${messagesOf(problems)}`);
}

/** The messages of a list, as one text. */
export function messagesOf(problems: readonly PromptProblem[]): string {
  return problems.map(({ message }) => message).join(" ");
}

function readOverride(template: Template, text: string): { value: Override } | { problem: string } {
  const content = text.replace(/^\u{FEFF}/u, "").trimEnd();
  const problems = checkContent(content, rulesOf(template));
  const errors = problems.filter(({ severity }) => severity === "error");
  return errors.length > 0 ? { problem: messagesOf(errors) } : { value: { content, problems } };
}

function rulesOf({ required, optional }: Template) {
  return { variables: [...required, ...optional], required, missing: "error" as const };
}
