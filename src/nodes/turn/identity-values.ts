import { homedir, release, type, userInfo } from "node:os";
import { basename } from "node:path";
import type { Value } from "../../prompts/template.ts";
import type { GraphState, RunContext } from "../../state.ts";
import { workflowAdditions } from "../../toolkits/composition.ts";

/** What an identity may tell of the session and the machine. */
export function identityValues(state: GraphState, workspace: string, context: RunContext): Record<string, Value> {
  return {
    project_name: basename(state.project_root ?? workspace),
    user_preferences: context.user_preferences ?? null,
    workspace_path: workspace,
    working_directory: workspace,
    os: `${type()} ${release()}`,
    shell: shell(),
    home: homedir(),
    today: new Date().toISOString().slice(0, 10),
    user_name: context.user_name ?? null,
    ...ofToolkits(state, context),
  };
}

function ofToolkits(state: GraphState, context: RunContext): Record<string, Value> {
  const variables = workflowAdditions().flatMap(({ identityVariables = {} }) => Object.entries(identityVariables));
  return Object.fromEntries(variables.map(([name, valueOf]) => [name, valueOf(state, context)]));
}

/** Looked up once: the system reads files for it. */
let known: { shell: string | null } | undefined;

/** A user whom the machine does not know has no shell. */
function shell(): string | null {
  try {
    known ??= { shell: userInfo().shell };
  } catch {
    known = { shell: null };
  }
  return known.shell;
}
