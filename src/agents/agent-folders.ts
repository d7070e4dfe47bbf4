import { basename, join, relative } from "node:path";
import { z } from "zod";
import type { Logger } from "@millrace/engine/logger";
import { createNewProblemReporter, type FilePlace, findFolders, shownPath } from "../extensions/find-folders.ts";
import { ParsedFiles } from "../extensions/parsed-files.ts";
import { readFrontMatter } from "../extensions/front-matter.ts";

/** Where agents are read from, and where broken files are logged. */
export interface AgentFoldersOptions {
  /** The folder that tools work in: an absolute path. */
  workspace: string;
  /** The home folder of the user who runs the program. */
  home: string;
  /** Names of all tools. */
  toolNames: Iterable<string>;
  logger: Pick<Logger, "error">;
}

/** The agents a run can delegate to. */
export interface AgentSource {
  /** All agents at this moment, by name. Never throws. */
  list(): readonly ListedAgent[];
  /** Reads the text of an agent's file. */
  check(text: string): ReadAgent;
  /** Where the agent of a name is, or a new one of the project would be; `undefined`: it cannot be one. */
  place(name: string): FilePlace | undefined;
}

/** Maximum bytes of an agent file; larger ones are skipped. */
export const maxAgentBytes = 256 * 1024;

/** Number of the folders that are in the workspace. */
const projectFolders = 2;

/** The folders searched for agents, by precedence. */
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
 * The agents of all folders; the first of each name wins. Files are checked at each use and reread when changed. A
 * broken file or folder is skipped and logged once with the reason.
 */
export function createAgentFolders(options: AgentFoldersOptions): AgentSource {
  const { logger, workspace } = options;
  const folders = agentFolders(options);
  const ofProject = new Set(folders.slice(0, projectFolders));
  const toolNames = new Set(options.toolNames);
  const files = new ParsedFiles<ReadAgent>({
    maxBytes: maxAgentBytes,
    parse: (text) => readAgentFile(text, toolNames),
    unusable: (problem) => ({ kind: "invalid", problem }),
    onRead(file, read) {
      if (read.kind === "invalid") logger.error({ file, reason: read.problem }, "agent_file_skipped");
    },
  });
  const reportFolders = createNewProblemReporter<{ folder: string; problem: string }>(({ folder, problem: reason }) =>
    logger.error({ folder, reason }, "agent_folder_not_read"),
  );

  /** The agents by name, each with its file. */
  const all = (): ReadonlyMap<string, { agent: ListedAgent; file: string; folder: string }> => {
    const byName = new Map<string, { agent: ListedAgent; file: string; folder: string }>();
    const problems: { folder: string; problem: string }[] = [];
    const onProblem = (problem: { folder: string; problem: string }) => void problems.push(problem);
    const found = findFolders({ folders, strategy: "all", accepts: isMarkdown, onProblem });
    reportFolders(problems);
    for (const { folder, files: paths } of found) {
      for (const file of paths) {
        const read = files.read(file, ofProject.has(folder) ? workspace : undefined);
        if (read.kind !== "agent" || byName.has(read.agent.name)) continue;
        byName.set(read.agent.name, { agent: { ...read.agent, path: shownPath(file, options) }, file, folder });
      }
    }
    files.keepOnly(found.flatMap(({ files: paths }) => paths));
    return byName;
  };

  return {
    list: () =>
      [...all().values()].map(({ agent }) => agent).toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    check: (text) => readAgentFile(text, toolNames),
    place(name) {
      const known = all().get(name);
      if (known === undefined) {
        return Name.safeParse(name).success ? { root: workspace, path: `.autocoderagents/${name}.md` } : undefined;
      }
      const { file, folder } = known;
      return ofProject.has(folder)
        ? { root: workspace, path: relative(workspace, file) }
        : { root: folder, path: basename(file) };
    },
  };
}

function isMarkdown(name: string): boolean {
  return name.endsWith(".md");
}

/** An agent. */
export interface Agent {
  name: string;
  /** What it is good for, for the delegating model. */
  description: string;
  /** Its tools; `null`: all of the caller's. */
  tools: readonly string[] | null;
  /** `provider:name`; `null`: the caller's. */
  model: string | null;
  /** Whether it gets the user's rules. */
  includeRules: boolean;
  /** Its system prompt. */
  prompt: string;
}

/** An agent with its file. */
export interface ListedAgent extends Agent {
  /** Display path: relative to the workspace, or with `~` for the user's home. */
  path: string;
}

/** An agent, or why the file is invalid. */
export type ReadAgent = { kind: "agent"; agent: Agent } | { kind: "invalid"; problem: string };

const Name = z
  .string()
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u, "a word of letters, digits, _ . or -, at most 64 characters");
const ToolList = z
  .union([z.string().transform((text) => text.split(",")), z.array(z.string())], {
    error: "names with commas between them, or a list of names",
  })
  .transform((names) => names.map((name) => name.trim()).filter((name) => name !== ""));
const FrontMatter = z.object(
  {
    name: Name,
    description: z.string().trim().min(1).max(2000),
    tools: ToolList.nullish(),
    model: z.string().trim().min(1).nullish(),
    include_rules: z.boolean().nullish(),
  },
  { error: "fields such as `name: reviewer`" },
);

/** `tools: *` as commonly written; in YAML a bare star is an alias. */
const allTools = /^(tools[ \t]*:[ \t]*)\*[ \t]*$/mu;

/**
 * Reads an agent file: YAML between `---` lines, then the system prompt. `tools` is a comma-separated text or a list;
 * `*` or no field means all of the caller's tools, an empty one none. `knownTools` are the valid names.
 */
export function readAgentFile(text: string, knownTools: ReadonlySet<string>): ReadAgent {
  const head = readFrontMatter(text, (yaml) => yaml.replace(allTools, '$1"*"'));
  if (head.kind === "none") {
    return invalid("expected YAML between two lines of ---, and the system prompt after them");
  }
  if (head.kind === "unusable") return invalid(head.problem);
  const { fields, body: prompt } = head;
  const read = FrontMatter.safeParse(fields);
  if (!read.success) {
    const problems = read.error.issues.map(({ path, message }) => `${path.join(".") || "front matter"}: ${message}`);
    return invalid(problems.join("; "));
  }
  const { name, description, model, include_rules } = read.data;
  const tools = toolsOf(read.data.tools, fields);
  const unknown = tools?.filter((tool) => !knownTools.has(tool)) ?? [];
  if (unknown.length > 0) return invalid(`tools: there is no ${unknown.join(", ")}`);
  if (prompt === "") return invalid("there is no system prompt after the front matter");
  return {
    kind: "agent",
    agent: { name, description, tools, model: model ?? null, includeRules: include_rules ?? false, prompt },
  };
}

/** A field without a value means no tools; a missing field means all. */
function toolsOf(tools: string[] | null | undefined, fields: unknown): string[] | null {
  const isThere = typeof fields === "object" && fields !== null && "tools" in fields;
  if (!isThere) return null;
  if (tools?.includes("*") === true) return null;
  return [...new Set(tools)];
}

function invalid(problem: string): ReadAgent {
  return { kind: "invalid", problem };
}
