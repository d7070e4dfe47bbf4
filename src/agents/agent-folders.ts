import { basename, join } from "node:path";
import { findFolders } from "../extensions/find-folders.ts";
import { ParsedFiles } from "../extensions/parsed-files.ts";
import { createTellNew } from "../extensions/tell-new.ts";
import type { Logger } from "@millrace/engine/logger";
import { readAgentFile, type Agent, type ReadAgent } from "./agent-file.ts";

/** Where the agents come from, and who is told of files that are none. */
export interface AgentFoldersOptions {
  /** The folder that tools work in: an absolute path. */
  workspace: string;
  /** The home folder of the user who runs the program. */
  home: string;
  /** Names of all tools. */
  toolNames: Iterable<string>;
  logger: Pick<Logger, "error">;
}

/** The agents that a run can hand work to. */
export interface AgentSource {
  /** All agents at this moment, by name. Never throws. */
  list(): readonly Agent[];
}

/** Larger files are no agents. In bytes. */
const largestFile = 256 * 1024;

/** How many of the folders lie in the workspace. */
const projectFolders = 2;

/** The folders in which agents are looked for, the first one first. */
export function agentFolders({ workspace, home }: Pick<AgentFoldersOptions, "workspace" | "home">): string[] {
  const ofUser = join(home, ".auto-coder", ".autocoderagents");
  return [
    join(workspace, ".autocoderagents"),
    join(workspace, ".auto-coder", ".autocoderagents"),
    ofUser,
    join(ofUser, "repos", basename(workspace)),
  ];
}

/**
 * The agents of all folders; of several with one name the first counts. Files are looked at when somebody asks
 * and read when they have changed. A file or folder that cannot be used is left out and told once, with the reason; the others still count.
 */
export function createAgentFolders(options: AgentFoldersOptions): AgentSource {
  const { logger, workspace } = options;
  const folders = agentFolders(options);
  const ofProject = new Set(folders.slice(0, projectFolders));
  const toolNames = new Set(options.toolNames);
  const files = new ParsedFiles<ReadAgent>({
    largest: largestFile,
    parse: (text) => readAgentFile(text, toolNames),
    unusable: (problem) => ({ kind: "invalid", problem }),
    onRead(file, read) {
      if (read.kind === "invalid") logger.error({ file, reason: read.problem }, "agent_file_skipped");
    },
  });
  const tellFolders = createTellNew<{ folder: string; problem: string }>(({ folder, problem: reason }) =>
    logger.error({ folder, reason }, "agent_folder_not_read"),
  );

  return {
    list() {
      const byName = new Map<string, Agent>();
      const problems: { folder: string; problem: string }[] = [];
      const onProblem = (problem: { folder: string; problem: string }) => void problems.push(problem);
      const found = findFolders({ folders, strategy: "all", accepts: isMarkdown, onProblem });
      tellFolders(problems);
      for (const { folder, files: paths } of found) {
        for (const path of paths) {
          const read = files.read(path, ofProject.has(folder) ? workspace : undefined);
          if (read.kind === "agent" && !byName.has(read.agent.name)) byName.set(read.agent.name, read.agent);
        }
      }
      files.keepOnly(found.flatMap(({ files: paths }) => paths));
      return [...byName.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
    },
  };
}

function isMarkdown(name: string): boolean {
  return name.endsWith(".md");
}
