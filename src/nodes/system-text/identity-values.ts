import { homedir, release, type, userInfo } from "node:os";
import { basename } from "node:path";
import { isHumanMessage } from "@langchain/core/messages";
import { LRUCache } from "lru-cache";
import type { Value } from "../../prompts/template.ts";
import type { GraphState, RunContext } from "../../state.ts";
import { workflowAdditions } from "../../toolkits/composition.ts";
import { projectFacts, type ProjectFacts } from "../../tools/workspace/project-facts.ts";

/** Workspace facts per session, fixed for its life so that a provider's prefix cache holds. */
const sessionFacts = new LRUCache<string, ProjectFacts>({ max: 1000 });

/** The values an identity may use about session and machine. */
export function identityValues(state: GraphState, workspace: string, context: RunContext): Record<string, Value> {
  const { files, branch } = factsOf(state.session_id, workspace);
  return {
    project_name: basename(state.project_root ?? workspace),
    user_preferences: context.user_preferences ?? null,
    workspace_path: workspace,
    working_directory: workspace,
    os: `${type()} ${release()}`,
    shell: shell(),
    home: homedir(),
    today: todayOf(state),
    workspace_files: files,
    git_branch: branch,
    user_name: context.user_name ?? null,
    ...ofToolkits(state, context),
  };
}

function factsOf(session: string, workspace: string): ProjectFacts {
  const key = `${session} ${workspace}`;
  const facts = sessionFacts.get(key) ?? projectFacts(workspace);
  sessionFacts.set(key, facts);
  return facts;
}

/** Date on which each turn began: a turn that runs past midnight keeps its prefix. */
const days = new LRUCache<string, string>({ max: 1000 });

function todayOf({ session_id, messages }: Pick<GraphState, "session_id" | "messages">): string {
  const key = `${session_id} ${messages.findLast((message) => isHumanMessage(message))?.id}`;
  const day = days.get(key) ?? new Date().toISOString().slice(0, 10);
  days.set(key, day);
  return day;
}

function ofToolkits(state: GraphState, context: RunContext): Record<string, Value> {
  const variables = workflowAdditions().flatMap(({ identityVariables = {} }) => Object.entries(identityVariables));
  return Object.fromEntries(variables.map(([name, valueOf]) => [name, valueOf(state, context)]));
}

/** Read once: the lookup reads files. */
let known: { shell: string | null } | undefined;

/** A user unknown to the system has no shell. */
function shell(): string | null {
  try {
    known ??= { shell: userInfo().shell };
  } catch {
    known = { shell: null };
  }
  return known.shell;
}
