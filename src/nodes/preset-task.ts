import { assertNever } from "@millrace/engine/errors/errors";
import { analyzeSimulation } from "../../toolkits/circuits/prompts/analyze-simulation.ts";
import { executeInstruction } from "../../toolkits/circuits/prompts/execute-instruction.ts";
import { extractDesignGoals } from "../../toolkits/circuits/prompts/extract-design-goals.ts";
import { fixError } from "../../toolkits/circuits/prompts/fix-error.ts";
import { generalConversation } from "../../toolkits/circuits/prompts/general-conversation.ts";
import { initialDesign } from "../../toolkits/circuits/prompts/initial-design.ts";
import { optimizeParameters } from "../../toolkits/circuits/prompts/optimize-parameters.ts";
import type { Prompts } from "../prompts/prompts.ts";
import { writeReport } from "../prompts/templates/write-report.ts";
import { usualGoals } from "../../toolkits/circuits/simulation/goals.ts";
import type { GraphState, PresetAction, RunContext } from "../state.ts";
import { chosenAtCheckpoint } from "../../toolkits/circuits/nodes/design-review.ts";
import { requestOf } from "./turn/request-words.ts";

/**
 * The task text (L1) of a preset action, filled with what the session knows. What it does not know stands in the
 * request, or is for the model to find.
 */
export function presetTask(action: PresetAction, state: GraphState, prompts: Prompts): string {
  const circuit = state.circuit_file_path ?? state.sim_result_path ?? inRequest;
  const history = state.conversation_summary?.attempted_solutions.join("; ");
  switch (action) {
    case "optimize_parameters":
      return prompts.text(optimizeParameters, {
        circuit,
        metrics: state.last_metrics ?? inRequest,
        design_goals: state.design_goals_summary ?? state.design_goals_path ?? inRequest,
        history,
      });
    case "fix_error":
      return prompts.text(fixError, { error: state.error_context ?? requestOf(state.messages), circuit, history });
    case "write_report":
      return prompts.text(writeReport, {
        circuit: state.circuit_file_path,
        design_goals: state.design_goals_summary ?? state.design_goals_path,
        metrics: state.last_metrics ?? state.sim_result_path,
        history,
      });
    default:
      return circuitTask(action, state, prompts);
  }
}

/** The tasks about circuits that begin with the user's words. */
function circuitTask(
  action: Exclude<PresetAction, "optimize_parameters" | "fix_error" | "write_report">,
  state: GraphState,
  prompts: Prompts,
): string {
  const request = requestOf(state.messages);
  const circuit = state.circuit_file_path;
  const goals = state.design_goals_summary ?? state.design_goals_path;
  switch (action) {
    case "extract_design_goals":
      return prompts.text(extractDesignGoals, { user_requirement: request, context: goals, goals_path: usualGoals });
    case "initial_design":
      return prompts.text(initialDesign, { design_goals: goals ?? inRequest, user_requirement: request });
    case "analyze_simulation":
      return prompts.text(analyzeSimulation, {
        metrics: state.last_metrics ?? state.sim_result_path ?? inRequest,
        design_goals: goals ?? inRequest,
        circuit,
      });
    case "execute_instruction":
      return prompts.text(executeInstruction, { instruction: request, circuit });
    case "general_conversation":
      return prompts.text(generalConversation, { message: request });
    default:
      return assertNever(action);
  }
}

/** The action of this turn: what a person has chosen after an iteration, else what the run says. */
export function presetOf({ messages }: Pick<GraphState, "messages">, context: RunContext): PresetAction | undefined {
  switch (chosenAtCheckpoint(messages)) {
    case undefined:
      return context.action_type;
    case "continue_optimizing":
      return "optimize_parameters";
    case "fix_error":
      return "fix_error";
    default:
      return undefined;
  }
}

const inRequest = "as the request and the files say";
