import type { CollectionContext, Collector } from "../../../src/context/collector.ts";
import { circuitState } from "../state.ts";
import { searchWorkspace, type SearchText } from "./search-workspace.ts";

/** File extensions of circuits. */
export const circuitEndings = /\.(cir|sp|spice|sub|inc)$/iu;

/** A circuit collector's input. Paths are relative to the workspace. */
export interface CircuitPlace {
  workspace: string;
  /** The session whose failures are recorded; absent if they are not. */
  session?: string;
  circuit_file: string | null;
  sim_result: string | null;
  design_goals: string | null;
  /** The session's last error. */
  error: string | null;
  /** The last simulation's figures by name. */
  metrics: Readonly<Record<string, number>> | null;
  /** Milliseconds since 1970. */
  now: number;
  /** Files changed by tools in the last 30 seconds, newest first; absent if changes are not recorded. */
  changed?: readonly string[];
  /** The user's message; absent outside a turn. */
  request?: string;
  /** Searches the workspace; absent: no search. */
  search?: SearchText;
}

/** Wraps a circuit collector for runs: it applies if the session or the editor has a circuit, a result or goals. */
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

/** The circuit open in the editor, as tools name it. */
function shownCircuit(document: CollectionContext["context"]["document"], workspace: string): string | null {
  const path = document?.path;
  if (path === undefined || !circuitEndings.test(path)) return null;
  const folder = [workspace, document?.workspace_path].find((one) => one !== undefined && path.startsWith(`${one}/`));
  return folder === undefined ? path : path.slice(folder.length + 1);
}
