import { homedir, release, type, userInfo } from "node:os";
import { basename } from "node:path";
import type { Value } from "../../prompts/template.ts";
import type { GraphState, RunContext } from "../../state.ts";

/** What an identity may tell of the session and the machine. */
export function identityValues(
  state: GraphState,
  workspace: string,
  { user_preferences, user_name, view_context }: RunContext,
): Record<string, Value> {
  return {
    project_name: basename(state.project_root ?? workspace),
    circuit_file: state.circuit_file_path === null ? null : basename(state.circuit_file_path),
    design_goals: state.design_goals_summary,
    simulation_status: simulationStatus(state),
    user_preferences: user_preferences ?? null,
    workspace_path: workspace,
    working_directory: workspace,
    os: `${type()} ${release()}`,
    shell: shell(),
    home: homedir(),
    today: new Date().toISOString().slice(0, 10),
    user_name: user_name ?? null,
    view_context: view_context ?? null,
    current_area_id: /^area::(.+)$/u.exec(view_context ?? "")?.[1] ?? null,
  };
}

function simulationStatus({ error_context, last_metrics }: GraphState): string {
  if (error_context !== null) return "failed";
  return last_metrics === null ? "not run" : "succeeded";
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
