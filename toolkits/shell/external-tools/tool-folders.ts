import { accessSync, constants, statSync } from "node:fs";
import { basename, extname, join } from "node:path";
import type { Logger } from "@millrace/engine/logger";
import { createNewProblemReporter, findFolders, shownPath } from "../../../src/extensions/find-folders.ts";
import { readBeginning, stateOf } from "../../../src/extensions/parsed-files.ts";
import { commentHelp, runHelp } from "./tool-help.ts";

/** A program in a tool folder. */
export interface ExternalTool {
  /** Without its extension. */
  name: string;
  extension: string;
  /** The display path: relative to the workspace, or with `~` for the home. */
  path: string;
  folder: string;
  executable: boolean;
  help: string;
}

/** The current external tools by name. */
export interface LoadedTools {
  tools: readonly ExternalTool[];
  /** Tool folders by precedence. */
  folders: readonly string[];
  /** Files that look like tools but are not. */
  problems: readonly { file: string; problem: string }[];
}

/** The external tools of a project. */
export interface ExternalToolSource {
  /** Scans the folders; reads the help of changed files, or of all with `force`. */
  load(options: { signal: AbortSignal; force?: boolean }): Promise<LoadedTools>;
}

/** Where tools are, how their help is found, and where problems are logged. */
export interface ToolFoldersOptions {
  /** The workspace, and the home of the user who runs the program: absolute paths. */
  workspace: string;
  home: string;
  /** Names of the server's own tools, which external ones cannot take. */
  toolNames: ReadonlySet<string>;
  /** Whether programs are run for their help; otherwise it is read from their comments. */
  runsHelp: boolean;
  logger: Pick<Logger, "warn">;
}

/** Extensions of scripts, which must be readable; a program without one must be executable. */
const scripts = new Set([".py", ".sh", ".js", ".rb", ".pl", ".php", ".go", ".rs"]);
const maxTools = 100;
/** Bytes at a file's start that are searched for comments. */
const headBytes = 16 * 1024;
/** How long a turn waits for all tools' help. */
const allHelpMilliseconds = 15_000;

/** The folders of external tools by precedence. */
export function toolFolders({ workspace, home }: Pick<ToolFoldersOptions, "workspace" | "home">): string[] {
  const ofUser = join(home, ".auto-coder", ".autocodertools");
  return [
    join(workspace, ".autocodertools"),
    join(workspace, ".auto-coder", ".autocodertools"),
    ofUser,
    join(ofUser, "repos", basename(workspace)),
  ];
}

/** Number of folders in the workspace. */
const projectFolders = 2;

interface Candidate {
  file: string;
  name: string;
  extension: string;
  folder: string;
  /** The folder that links must not leave. */
  root: string | undefined;
}

/** Opens the external tools of a workspace and of the user who runs the program. */
export function createToolFolders(options: ToolFoldersOptions): ExternalToolSource {
  const { workspace, logger, runsHelp } = options;
  const folders = toolFolders(options);
  const known = new Map<string, { state: string; help: string | { problem: string } }>();
  const reportNew = createNewProblemReporter<{ file: string; problem: string }>((problem) =>
    logger.warn(problem, "external_tool_problem"),
  );
  const helpOf = async (candidate: Candidate, caller: AbortSignal, inTime: AbortSignal, force: boolean) => {
    const state = stateOf(candidate.file);
    const before = known.get(candidate.file);
    if (!force && before?.state === state) return before.help;
    const help = await findHelp(candidate, runsHelp, inTime);
    // An abort leaves the help unknown; a program that is too slow is not asked again.
    if (!caller.aborted) known.set(candidate.file, { state, help });
    return help;
  };
  return {
    async load({ signal, force = false }) {
      const problems: { file: string; problem: string }[] = [];
      const onProblem = ({ folder, problem }: { folder: string; problem: string }): void =>
        void problems.push({ file: shownPath(folder, options), problem: `it is not read: ${problem}` });
      const accepts = (name: string): boolean => !name.startsWith(".");
      const found = findFolders({ folders, strategy: "all", accepts, onProblem });
      const candidates = found.flatMap(({ folder, files }) =>
        files.map((file) =>
          candidateOf(file, folder, folders.indexOf(folder) < projectFolders ? workspace : undefined),
        ),
      );
      const chosen = choose(candidates, options, problems);
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(allHelpMilliseconds)]);
      const helps = await Promise.all(chosen.map((candidate) => helpOf(candidate, signal, inTime, force)));
      const present = new Set(chosen.map(({ file }) => file));
      for (const file of known.keys()) if (!present.has(file)) known.delete(file);
      const tools: ExternalTool[] = [];
      for (const [index, { file, name, extension, folder }] of chosen.entries()) {
        const help = helps[index] ?? "";
        const path = shownPath(file, options);
        if (typeof help !== "string") problems.push({ file: path, problem: `it is not used: ${help.problem}` });
        else
          tools.push({
            name,
            extension,
            path,
            folder: shownPath(folder, options),
            executable: may(file, "X_OK"),
            help,
          });
      }
      reportNew(problems);
      return { tools, folders: found.map(({ folder }) => shownPath(folder, options)), problems };
    },
  };
}

function candidateOf(file: string, folder: string, root: string | undefined): Candidate {
  const extension = extname(file);
  return { file, name: basename(file, extension), extension: extension.toLowerCase(), folder, root };
}

/** Selects tools; the first of each name wins, and server tools take precedence. */
function choose(
  candidates: readonly Candidate[],
  options: ToolFoldersOptions,
  problems: { file: string; problem: string }[],
): Candidate[] {
  const byName = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const { file, name, extension } = candidate;
    if (extension === "" ? isFolder(file) : !scripts.has(extension)) continue;
    const first = byName.get(name);
    const problem = options.toolNames.has(name)
      ? "a tool of the house has its name and counts instead"
      : first !== undefined
        ? `${shownPath(first.file, options)} has the same name and counts instead`
        : extension === "" && !may(file, "X_OK")
          ? "it is not used: it has no ending and may not be executed"
          : byName.size === maxTools
            ? `it is not used: there are more than ${maxTools} tools`
            : undefined;
    if (problem === undefined) byName.set(name, candidate);
    else problems.push({ file: shownPath(file, options), problem });
  }
  return [...byName.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** A tool's help: its own output, else its comments, else its name alone. */
async function findHelp(
  { file, name, extension, root }: Candidate,
  runsHelp: boolean,
  signal: AbortSignal,
): Promise<string | { problem: string }> {
  const read = readBeginning(file, headBytes, root);
  if ("problem" in read) return read;
  const help = runsHelp && may(file, "X_OK") ? await runHelp(file, signal) : null;
  if (help !== null) return help;
  const comments = read.bytes.includes(0) ? "" : commentHelp(read.bytes.toString("utf8"), extension);
  return comments === "" ? `Tool command: ${name}${extension}` : comments;
}

function isFolder(file: string): boolean {
  try {
    return statSync(file).isDirectory();
  } catch {
    return false;
  }
}

function may(file: string, mode: "R_OK" | "X_OK"): boolean {
  try {
    accessSync(file, constants[mode]);
    return true;
  } catch {
    return false;
  }
}
