import { basename } from "node:path";
import { z } from "zod";
import { errorMessage } from "@millrace/engine/errors/errors";
import { readFrontMatter } from "../extensions/front-matter.ts";
import { toGlob } from "@millrace/engine/glob";

/** The content of a rule file. */
export interface RuleText {
  description: string;
  /** Patterns of files the rule applies to. */
  globs: readonly string[];
  alwaysApply: boolean;
  text: string;
  /** Whether it applies to a path relative to the workspace. */
  isFor: (path: string) => boolean;
  /** Problems of the file; defaults are used instead. */
  problems: readonly string[];
}

/** The common rules file of coding agents in a project's root. */
export const agentsFile = "AGENTS.md";

const maxPatternLength = 300;
const maxPatterns = 100;

const Description = z.string().trim().max(2000).nullish();
const Globs = z
  .union([z.string().transform((text) => text.split(/,(?![^{]*\})/u)), z.array(z.string())])
  .transform((patterns) => patterns.map((pattern) => pattern.trim()).filter((pattern) => pattern !== ""))
  .pipe(z.array(z.string().max(maxPatternLength)).max(maxPatterns))
  .nullish();
const AlwaysApply = z.boolean().nullish();

const expected = {
  description: "a text of at most 2000 characters",
  globs: `a pattern or a list of at most ${maxPatterns} patterns such as "**/*.py"`,
  alwaysApply: "true or false",
};

/** In YAML a leading star is an alias, but patterns are commonly written that way. */
const bareStar = /^([ \t]*(?:-|globs[ \t]*:)[ \t]+)(\*[^\n"'#]*)$/gmu;

/** Quotes such patterns. The regex excludes trailing spaces, so that it runs in linear time. */
function quoteStars(yaml: string): string {
  return yaml.replace(bareStar, (_, before: string, pattern: string) => `${before}"${pattern.trimEnd()}"`);
}

/**
 * Reads a rule file: YAML between `---` lines, then the rule. A broken front matter never makes it unusable: defaults
 * apply and `problems` says so. An index needs none, since it always applies.
 */
export function readRuleFile(text: string, file: string): RuleText {
  const head = readFrontMatter(text, quoteStars);
  const problems: string[] = [];
  const fields = fieldsOf(head.kind === "fields" ? head.fields : {}, problems);
  if (head.kind === "none" && !isIndex(file)) problems.push("it has no head, so it applies to no file by itself");
  if (head.kind === "unusable") problems.push(head.problem);
  const read = <T>(name: keyof typeof expected, schema: z.ZodType<T>): T | undefined => {
    const parsed = schema.safeParse(fields[name]);
    if (!parsed.success) problems.push(`${name}: expected ${expected[name]}`);
    return parsed.data;
  };
  const { globs, isFor } = patternsOf(read("globs", Globs) ?? [], problems);
  return {
    description: read("description", Description) ?? "",
    globs,
    alwaysApply: read("alwaysApply", AlwaysApply) ?? false,
    text: head.body,
    isFor,
    problems: head.body === "" ? [...problems, "it has no text"] : problems,
  };
}

/** Whether a file always applies: its folder's index, or the workspace's AGENTS.md. */
export function isIndex(file: string): boolean {
  return ["index.md", agentsFile].includes(basename(file));
}

function fieldsOf(fields: unknown, problems: string[]): Record<string, unknown> {
  const read = z.record(z.string(), z.unknown()).nullable().safeParse(fields);
  if (!read.success) problems.push("its front matter holds no fields such as `alwaysApply: true`");
  return read.data ?? {};
}

function patternsOf(patterns: readonly string[], problems: string[]): Pick<RuleText, "globs" | "isFor"> {
  const usable = patterns.flatMap((pattern) => {
    try {
      return [{ pattern, matches: toGlob(pattern) }];
    } catch (error) {
      problems.push(`globs: ${JSON.stringify(pattern)} is no pattern (${errorMessage(error)})`);
      return [];
    }
  });
  return {
    globs: usable.map(({ pattern }) => pattern),
    isFor: (path) => usable.some(({ matches }) => matches(path)),
  };
}
