import { join } from "node:path";
import { z } from "zod";
import { checkContent, checkValues, hasError, type PromptProblem } from "../check-content.ts";
import { AppError } from "@millrace/engine/errors/errors";
import { messagesOf, refused, type PromptSource, type PromptVerdict } from "../manager.ts";
import { OverrideFile, type Found, type WarnOfFile } from "@millrace/engine/config/override-file";
import { type PromptParts, variableName, type Template, type Value } from "../template.ts";
import { identityText } from "../prompts.ts";

const names = z.array(z.string()).max(100);

/** The file of a custom identity. Only `content` is required, so that it can be written by hand. */
const StoredIdentity = z.object({
  version: z.literal("1").default("1"),
  name: z.string().optional(),
  description: z.string().optional(),
  content: z.string(),
  variables: names.optional(),
  required_variables: names.optional(),
  metadata: z.object({ created_at: z.string().optional(), updated_at: z.string().optional() }).default({}),
});

/** An identity: profile, text, variables and source. */
export interface IdentityRecord {
  version: string;
  profile: string;
  name: string;
  description: string;
  content: string;
  default_content: string;
  variables: string[];
  required_variables: string[];
  source: PromptSource;
  problems: PromptProblem[];
  metadata: { created_at: string | null; updated_at: string | null; is_custom: boolean };
}

/** A change of an identity; missing fields stay. */
export interface IdentityChange {
  name?: string | undefined;
  description?: string | undefined;
  content?: string | undefined;
  variables?: string[] | undefined;
  required_variables?: string[] | undefined;
}

type Usable = Pick<
  IdentityRecord,
  "name" | "description" | "content" | "variables" | "required_variables" | "problems" | "metadata"
>;

/**
 * The identities (L0) with users' overrides: `identity.json` in the folder for the general profile,
 * `identity_<profile>.json` for the others. Reading never fails.
 */
export class IdentityManager {
  readonly #parts: PromptParts;
  readonly #files: ReadonlyMap<string, OverrideFile<Usable>>;
  /** Last warning per profile. */
  readonly #warned = new Map<string, string>();
  readonly #warnOfValues: (warning: { profile: string; problem: string }) => void;

  constructor(
    folder: string,
    parts: PromptParts,
    warn: { ofFile: WarnOfFile; ofValues: (warning: { profile: string; problem: string }) => void },
  ) {
    this.#parts = parts;
    this.#files = new Map(
      this.profiles().map((profile) => {
        const read = (text: string): ReturnType<typeof readIdentity> => readIdentity(this.#builtIn(profile), text);
        return [profile, new OverrideFile(join(folder, fileName(profile)), read, warn.ofFile)];
      }),
    );
    this.#warnOfValues = warn.ofValues;
  }

  /** The profiles that there are. */
  profiles(): string[] {
    return Object.keys(this.#parts.identities);
  }

  /** The profiles with what they are for, and whether their text is a custom one. */
  list(): (Pick<IdentityRecord, "profile" | "description" | "source"> & Pick<Template, "title">)[] {
    return this.profiles().map((profile) => {
      const { description, source } = this.full(profile);
      return { profile, title: this.#identity(profile).title, description, source };
    });
  }

  /** The filled identity; a missing required variable is only a warning. */
  filled(profile: string, values: Readonly<Record<string, Value>>): string {
    const { content, variables, required_variables } = this.full(profile);
    const missing = checkValues(values, { required: required_variables, missing: "warning" });
    const problem = messagesOf(missing);
    // Called for every model request, so only changes are logged.
    if (problem !== "" && problem !== this.#warned.get(profile)) this.#warnOfValues({ profile, problem });
    this.#warned.set(profile, problem);
    return identityText(content, variables, values);
  }

  /** The whole record with the unfilled text. */
  full(profile: string): IdentityRecord {
    const found = this.#file(profile).read();
    const usable = found.kind === "value" ? found.value : this.#builtIn(profile);
    return {
      ...usable,
      version: "1",
      profile,
      default_content: this.#identity(profile).content,
      source: sourceOf(found),
      problems:
        found.kind === "unusable" ? [{ kind: "unusable", severity: "error", message: found.problem }] : usable.problems,
    };
  }

  /** Validates and fills an identity with these changes and values. */
  validate(profile: string, change: IdentityChange, values?: Readonly<Record<string, unknown>>): PromptVerdict {
    const next = changed(this.full(profile), change);
    const problems = [
      ...checkIdentity(next),
      ...(values === undefined ? [] : checkValues(values, { required: next.required_variables, missing: "warning" })),
    ];
    return { valid: !hasError(problems), problems, text: identityText(next.content, next.variables, values ?? {}) };
  }

  /** Saves a custom identity, effective from the next turn. Throws `invalid_parameter` or `storage_*`. */
  save(profile: string, change: IdentityChange, now: Date): IdentityRecord {
    const former = this.full(profile);
    const next = changed(former, change);
    const problems = checkIdentity(next).filter(({ severity }) => severity === "error");
    if (problems.length > 0) throw refused("The identity", problems);
    const { name, description, content, variables, required_variables } = next;
    const at = now.toISOString();
    const stored = {
      version: "1",
      name,
      description,
      content,
      variables,
      required_variables,
      metadata: { created_at: former.metadata.created_at ?? at, updated_at: at },
    };
    this.#file(profile).write(`${JSON.stringify(stored, null, 2)}\n`);
    return this.full(profile);
  }

  /** Restores the built-in identity. Throws `storage_*`. */
  reset(profile: string): IdentityRecord {
    this.#file(profile).remove();
    return this.full(profile);
  }

  /** Clears the cache. */
  reload(): void {
    for (const file of this.#files.values()) file.forget();
  }

  #file(profile: string): OverrideFile<Usable> {
    return this.#files.get(profile) ?? unknownProfile(profile);
  }

  #identity(profile: string): Template {
    const { identities } = this.#parts;
    return (Object.hasOwn(identities, profile) ? identities[profile] : undefined) ?? unknownProfile(profile);
  }

  #builtIn(profile: string): Usable {
    const { title, description, content, required, optional } = this.#identity(profile);
    return {
      name: title.en,
      description,
      content,
      variables: [...new Set([...required, ...optional, ...this.#parts.identityVariables])],
      required_variables: [...required],
      problems: [],
      metadata: { created_at: null, updated_at: null, is_custom: false },
    };
  }
}

function unknownProfile(profile: string): never {
  throw new AppError("invalid_parameter", `There is no profile "${profile}".`, {
    suggestion: "GET /openapi.json lists the profiles.",
  });
}

function fileName(profile: string): string {
  return profile === "general" ? "identity.json" : `identity_${profile}.json`;
}

function sourceOf(found: Found<unknown>): PromptSource {
  switch (found.kind) {
    case "none":
      return "builtin";
    case "value":
      return "custom";
    case "unusable":
      return "fallback";
  }
}

function changed(record: IdentityRecord, change: IdentityChange): IdentityRecord {
  const variables = change.variables ?? record.variables;
  return {
    ...record,
    name: change.name ?? record.name,
    description: change.description ?? record.description,
    content: change.content ?? record.content,
    variables,
    // A removed variable is no longer required, unless this change says so.
    required_variables:
      change.required_variables ?? record.required_variables.filter((name) => variables.includes(name)),
  };
}

function checkIdentity({
  content,
  variables,
  required_variables: required,
}: Pick<Usable, "content" | "variables" | "required_variables">): PromptProblem[] {
  const odd = variables.filter((name) => !variableName.test(name));
  const unknown = required.filter((name) => !variables.includes(name));
  const duplicates = variables.filter((name, index) => variables.indexOf(name) !== index);
  const problem = (variable: string, message: string): PromptProblem => ({
    kind: "odd_name",
    severity: "error",
    message,
    variable,
  });
  return [
    ...checkContent(content, { variables, required, missing: "warning" }),
    ...odd.map((name) => problem(name, `${JSON.stringify(name)} cannot be a variable: use letters, digits and _.`)),
    ...unknown.map((name) => problem(name, `${name} is required and not among the variables: add it there.`)),
    ...duplicates.map((name) => problem(name, `The variable ${name} is listed twice.`)),
  ];
}

function readIdentity(base: Usable, text: string): { value: Usable } | { problem: string } {
  const parsed = StoredIdentity.safeParse(parseJson(text));
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
    return { problem: `it is not an identity: ${issues.join("; ")}` };
  }
  const { name = base.name, description = base.description, content, metadata } = parsed.data;
  const variables = parsed.data.variables ?? base.variables;
  const required_variables =
    parsed.data.required_variables ?? base.required_variables.filter((one) => variables.includes(one));
  const problems = checkIdentity({ content, variables, required_variables });
  const errors = problems.filter(({ severity }) => severity === "error");
  if (errors.length > 0) return { problem: messagesOf(errors) };
  const { created_at = null, updated_at = null } = metadata;
  const value = { name, description, content, variables, required_variables, problems };
  return { value: { ...value, metadata: { created_at, updated_at, is_custom: true } } };
}

/** Parses JSON; returns invalid text itself, which no object schema accepts. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
