import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
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

interface KnownFile {
  mtimeMs: number;
  size: number;
  read: ReadAgent;
}

/** The folders in which agents are looked for, the first one first (AGENT-02). */
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
 * The agents of all folders; of several with one name the first counts (AGENT-02). Files are looked at when somebody asks
 * and read when they have changed. A file or folder that cannot be used is left out and told once, with the reason
 * (AGENT-01); the others still count.
 */
export function createAgentFolders(options: AgentFoldersOptions): AgentSource {
  const { logger } = options;
  const folders = agentFolders(options);
  const toolNames = new Set(options.toolNames);
  const known = new Map<string, KnownFile>();
  const unreadable = new Map<string, string>();

  const filesOf = (folder: string): string[] => {
    try {
      if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
      const names = readdirSync(folder).filter((name) => name.endsWith(".md"));
      unreadable.delete(folder);
      return names.toSorted().map((name) => join(folder, name));
    } catch (error) {
      const reason = errorMessage(error);
      if (unreadable.get(folder) !== reason) logger.error({ folder, reason }, "agent_folder_not_read");
      unreadable.set(folder, reason);
      return [];
    }
  };

  const read = (file: string): ReadAgent => {
    const before = known.get(file);
    const { mtimeMs, size } = stateOf(file);
    if (before !== undefined && before.mtimeMs === mtimeMs && before.size === size) return before.read;
    const now = readFile(file, toolNames);
    known.set(file, { mtimeMs, size, read: now });
    if (now.kind === "invalid") logger.error({ file, reason: now.problem }, "agent_file_skipped");
    return now;
  };

  return {
    list() {
      const byName = new Map<string, Agent>();
      const files = folders.flatMap(filesOf);
      for (const file of files) {
        const found = read(file);
        if (found.kind === "agent" && !byName.has(found.agent.name)) byName.set(found.agent.name, found.agent);
      }
      const present = new Set(files);
      for (const file of known.keys()) if (!present.has(file)) known.delete(file);
      return [...byName.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
    },
  };
}

/** What changes when a file does; a file that cannot be looked at, such as a link to itself, has one state of its own. */
function stateOf(file: string): Pick<KnownFile, "mtimeMs" | "size"> {
  try {
    return statSync(file);
  } catch {
    return { mtimeMs: 0, size: -1 };
  }
}

function readFile(file: string, toolNames: ReadonlySet<string>): ReadAgent {
  try {
    const entry = statSync(file);
    if (!entry.isFile()) return { kind: "invalid", problem: "it is not a regular file" };
    if (entry.size > largestFile) return { kind: "invalid", problem: `it is larger than ${largestFile} bytes` };
    return readAgentFile(readFileSync(file, "utf8"), toolNames);
  } catch (error) {
    return { kind: "invalid", problem: errorMessage(error) };
  }
}
