import type { CollectionContext, Collector } from "../../../src/context/collector.ts";
import { circuitState } from "../state.ts";
import { searchWorkspace, type SearchText } from "./search-workspace.ts";

/** How the names of circuits end. */
export const circuitEndings = /\.(cir|sp|spice|sub|inc)$/iu;

/** Where collectors of circuits look. Paths are relative to the workspace. */
export interface CircuitPlace {
  workspace: string;
  /** The session whose failures are remembered; absent if failures are not recorded. */
  session?: string;
  circuit_file: string | null;
  sim_result: string | null;
  design_goals: string | null;
  /** The session's last error. */
  error: string | null;
  /** Figures of the last simulation, by their names. */
  metrics: Readonly<Record<string, number>> | null;
  /** Milliseconds since 1970. */
  now: number;
  /** Files that tools have changed in the last 30 seconds, the newest first; absent if changes are not recorded. */
  changed?: readonly string[];
  /** The user's words; absent outside of a turn. */
  request?: string;
  /** Searches the workspace; absent: nothing is searched for. */
  search?: SearchText;
}

/** A collector of circuits as every run asks it: it applies where the session or the editor names a circuit, a result or goals. */
export function aboutCircuits(collector: Collector<CircuitPlace>): Collector {
  return {
    ...collector,
    appliesTo: (where) => {
      const { circuit_file, sim_result, design_goals } = placeOf(where);
      return [circuit_file, sim_result, design_goals].some((path) => path !== null);
    },
    collect: (where, signal, warn) => collector.collect(placeOf(where), signal, warn),
  };
}

function placeOf({ state, context, ...where }: CollectionContext): CircuitPlace {
  const known = circuitState(state);
  return {
    ...where,
    circuit_file: known.circuit_file_path ?? shownCircuit(context.document, where.workspace),
    sim_result: known.sim_result_path,
    design_goals: known.design_goals_path,
    metrics: known.last_metrics,
    search: searchWorkspace(where),
  };
}

/** The circuit that the editor shows, as tools name it. */
function shownCircuit(document: CollectionContext["context"]["document"], workspace: string): string | null {
  const path = document?.path;
  if (path === undefined || !circuitEndings.test(path)) return null;
  const folder = [workspace, document?.workspace_path].find((one) => one !== undefined && path.startsWith(`${one}/`));
  return folder === undefined ? path : path.slice(folder.length + 1);
}
