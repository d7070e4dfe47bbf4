import { basename } from "node:path";
import { z } from "zod";
import type { GraphState } from "../../src/state.ts";

/** A session's circuit state: paths, the last figures, a summary of the goals. */
export const circuitFields = {
  circuit_file_path: z.string().nullable().default(null),
  sim_result_path: z.string().nullable().default(null),
  design_goals_path: z.string().nullable().default(null),
  /** The goals as JSON, with the status of each. */
  design_goals_summary: z.string().nullable().default(null),
  last_metrics: z.record(z.string(), z.number()).nullable().default(null),
};
const CircuitState = z.object(circuitFields);
export type CircuitState = z.infer<typeof CircuitState>;

/** The circuit fields of a session's state. */
export function circuitState(state: GraphState): CircuitState {
  return CircuitState.parse(state);
}

/** The circuit keys of a run's context. */
export const circuitContext = {
  /** Whether turns wait for a decision after each design iteration. Default only in mode `workflow`. */
  design_checkpoint: z.boolean().optional(),
};
/** A run's circuit options. */
export const CircuitContext = z.object(circuitContext);

/** Variables for identities: the circuit, its goals, and the outcome of its last simulation. */
export const circuitVariables = {
  circuit_file: (state: GraphState) => {
    const { circuit_file_path: path } = circuitState(state);
    return path === null ? null : basename(path);
  },
  design_goals: (state: GraphState) => circuitState(state).design_goals_summary,
  simulation_status: (state: GraphState) => {
    if (state.error_context !== null) return "failed";
    return circuitState(state).last_metrics === null ? "not run" : "succeeded";
  },
};

/** Lines for the system text. */
export function circuitFacts(state: GraphState): Record<string, string | null> {
  const { design_goals_summary, circuit_file_path } = circuitState(state);
  return { "Design goals": design_goals_summary, "Circuit file": circuit_file_path };
}
