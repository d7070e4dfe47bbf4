import { basename, dirname, join, relative, resolve } from "node:path";
import { createNewProblemReporter, type FilePlace, findFolders, shownPath } from "../extensions/find-folders.ts";
import { ParsedFiles } from "../extensions/parsed-files.ts";
import type { Logger } from "@millrace/engine/logger";
import { agentsFile, isIndex, readRuleFile, type RuleText } from "./rule-file.ts";

/** Scope of a rule; project rules take precedence. */
export const ruleScopes = ["project", "user"] as const;

/** A rule with its location. */
export interface Rule extends RuleText {
  scope: (typeof ruleScopes)[number];
  /** Display path: relative to the workspace, or with `~` for the user's home. */
  path: string;
  /** Whether it is its folder's index. */
  isIndex: boolean;
}

/** All current rules in order, and warnings; with display paths. */
export interface LoadedRules {
  rules: readonly Rule[];
  warnings: readonly RuleWarning[];
}

/** A problem of a file or folder. */
export interface RuleWarning {
  file: string;
  problem: string;
}

/** The rules of a project. */
export interface RuleSource {
  /** Checks the files and rereads changed ones. Never throws. */
  load(): LoadedRules;
  /** Where the rule of a display path is, or a new one of the project with this file name; `undefined`: it cannot be one. */
  place(name: string): FilePlace | undefined;
}

/** Where rules are read from, and where broken ones are logged. */
export interface RuleFoldersOptions {
  /** The workspace and the user's home: absolute paths. */
  workspace: string;
  home: string;
  logger: Pick<Logger, "warn">;
}

/** Maximum bytes of a rule file. */
export const maxRuleBytes = 64 * 1024;

const NewFile = /^[\p{L}\p{N}][\p{L}\p{N}_. -]{0,99}\.md$/u;

/** The rule folders: of the project's only the first with a `.md` file counts, of the user's all. */
export function ruleFolders({ workspace, home }: Pick<RuleFoldersOptions, "workspace" | "home">): {
  project: string[];
  user: string[];
} {
  const ofUser = join(home, ".auto-coder", "autocoderrules");
  return {
    project: [
      join(workspace, ".autocoderrules"),
      join(workspace, ".auto-coder", ".autocoderrules"),
      join(workspace, ".auto-coder", "autocoderrules"),
    ],
    user: [ofUser, join(ofUser, "repos", basename(workspace))],
  };
}

/** Opens the rules of a workspace and its user. Each warning is logged once. */
export function createRuleFolders(options: RuleFoldersOptions): RuleSource {
  const { workspace, home, logger } = options;
  const folders = ruleFolders(options);
  const files = new ParsedFiles<RuleText | { problem: string }>({
    maxBytes: maxRuleBytes,
    parse: readRuleFile,
    unusable: (problem) => ({ problem }),
  });
  const reportNew = createNewProblemReporter<RuleWarning>((warning) => logger.warn(warning, "rule_file_problem"));
  return {
    load() {
      const warnings: RuleWarning[] = [];
      const rules: Rule[] = [];
      const seen = new Set<string>();
      for (const { scope, file } of ruleFilesOf(folders, { workspace, home }, warnings)) {
        if (seen.has(file)) continue;
        seen.add(file);
        const read = files.read(file, scope === "project" ? workspace : undefined);
        const path = shownPath(file, { workspace, home });
        const problems = "problem" in read ? [`it is not used: ${read.problem}`] : read.problems;
        warnings.push(...problems.map((problem) => ({ file: path, problem })));
        if ("problem" in read || read.text === "") continue;
        rules.push({ ...read, scope, path, isIndex: isIndex(file) });
      }
      files.keepOnly(seen);
      reportNew(warnings);
      return { rules, warnings };
    },
    place(name) {
      const known = ruleFilesOf(folders, { workspace, home }, []).find(
        ({ file }) => shownPath(file, { workspace, home }) === name,
      );
      if (known?.scope === "user") return { root: dirname(known.file), path: basename(known.file) };
      if (known !== undefined || name === agentsFile) return { root: workspace, path: name };
      if (!NewFile.test(name)) return undefined;
      const [found] = findFolders({
        folders: folders.project,
        strategy: "first",
        accepts: isMarkdown,
        onProblem: () => undefined,
      });
      return { root: workspace, path: join(relative(workspace, found?.folder ?? folders.project[0] ?? ""), name) };
    },
  };
}

function isMarkdown(name: string): boolean {
  return name.endsWith(".md");
}

function ruleFilesOf(
  { project, user }: ReturnType<typeof ruleFolders>,
  { workspace, home }: { workspace: string; home: string },
  warnings: RuleWarning[],
): { scope: Rule["scope"]; file: string }[] {
  const onProblem = ({ folder, problem }: { folder: string; problem: string }): void =>
    void warnings.push({ file: shownPath(folder, { workspace, home }), problem: `it is not read: ${problem}` });
  const filesOf = (scope: Rule["scope"], list: string[], strategy: "first" | "all") =>
    findFolders({ folders: list, strategy, accepts: isMarkdown, onProblem }).flatMap(({ files }) =>
      files.map((file) => ({ scope, file: resolve(file) })),
    );
  const agents = findFolders({
    folders: [workspace],
    strategy: "all",
    accepts: (name) => name === agentsFile,
    onProblem,
  });
  return [
    ...agents.flatMap(({ files }) => files.map((file) => ({ scope: "project" as const, file: resolve(file) }))),
    ...filesOf("project", project, "first"),
    ...filesOf("user", user, "all"),
  ];
}
