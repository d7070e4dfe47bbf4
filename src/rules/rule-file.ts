import { basename } from "node:path";
import { z } from "zod";
import { errorMessage } from "@millrace/engine/errors/errors";
import { readFrontMatter } from "../extensions/front-matter.ts";
import { toGlob } from "@millrace/engine/glob";

/** What a rule file says. */
export interface RuleText {
  description: string;
  /** Patterns of the files that the rule is for. */
  globs: readonly string[];
  alwaysApply: boolean;
  text: string;
  /** Whether it is for a file, whose path is relative to the workspace. */
  isFor: (path: string) => boolean;
  /** What is wrong with the file; the default stands for it. */
  problems: readonly string[];
}

/** The file of rules for coding agents in the root of a project, as many of them read it. */
export const agentsFile = "AGENTS.md";

const longestPattern = 300;
const mostPatterns = 100;

const Description = z.string().trim().max(2000).nullish();
const Globs = z
  .union([z.string().transform((text) => text.split(/,(?![^{]*\})/u)), z.array(z.string())])
  .transform((patterns) => patterns.map((pattern) => pattern.trim()).filter((pattern) => pattern !== ""))
  .pipe(z.array(z.string().max(longestPattern)).max(mostPatterns))
  .nullish();
const AlwaysApply = z.boolean().nullish();

const expected = {
  description: "a text of at most 2000 characters",
  globs: `a pattern or a list of at most ${mostPatterns} patterns such as "**/*.py"`,
  alwaysApply: "true or false",
};

/** In YAML a star alone begins a reference, but patterns are commonly written so. */
const bareStar = /^([ \t]*(?:-|globs[ \t]*:)[ \t]+)(\*[^\n"'#]*)$/gmu;

/** Quotes such patterns. The expression leaves out trailing spaces, so that it runs in linear time. */
function quoteStars(yaml: string): string {
  return yaml.replace(bareStar, (_, before: string, pattern: string) => `${before}"${pattern.trimEnd()}"`);
}

/**
 * Reads a rule file: YAML between lines of `---`, then the rule. Nothing in the head makes a file unusable: what is
 * missing or broken has its default, and `problems` says so. An index needs no head, since it always counts.
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

/** Whether a file always counts, with or without a head: the index of its folder, and the workspace's own AGENTS.md. */
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
