import type { BaseMessage } from "@langchain/core/messages";
import { lastUserText } from "../../../src/nodes/turn/request-words.ts";
import type { Template, Values } from "../../../src/prompts/template.ts";
import type { GraphState } from "../../../src/state.ts";
import type { PresetAction } from "../../../src/toolkits/toolkit.ts";
import { analyzeSimulation } from "../prompts/analyze-simulation.ts";
import { executeInstruction } from "../prompts/execute-instruction.ts";
import { extractDesignGoals } from "../prompts/extract-design-goals.ts";
import { fixError } from "../prompts/fix-error.ts";
import { generalConversation } from "../prompts/general-conversation.ts";
import { initialDesign } from "../prompts/initial-design.ts";
import { optimizeParameters } from "../prompts/optimize-parameters.ts";
import { writeReport } from "../prompts/write-report.ts";
import { defaultGoals } from "../simulation/goals.ts";
import { circuitState } from "../state.ts";
import { chosenAtCheckpoint } from "./design-review.ts";

/** Placeholder for values the session does not have: the request or the files do. */
const inRequest = "as the request and the files say";

/** Values for the task texts; `null`: unknown in the conversation. */
function knownOf(state: GraphState) {
  const { circuit_file_path: circuit, sim_result_path: result, last_metrics, ...goals } = circuitState(state);
  return {
    circuit,
    circuitOrResult: circuit ?? result ?? inRequest,
    metrics: last_metrics ?? result,
    goals: goals.design_goals_summary ?? goals.design_goals_path,
    error: state.error_context,
    history: state.conversation_summary?.attempted_solutions.join("; "),
    request: lastUserText(state.messages),
    hasMetrics: last_metrics !== null,
  };
}

function action<Required extends string, Optional extends string>(
  template: Template<Required, Optional>,
  values: (known: ReturnType<typeof knownOf>) => Values<Required, Optional>,
): PresetAction {
  return { template, task: (state, prompts) => prompts.text(template, values(knownOf(state))) };
}

/** Preset actions for circuits with their task texts (L1), in the order for editors. */
export const circuitActions: Readonly<Record<string, PresetAction>> = {
  initial_design: action(initialDesign, ({ goals, request }) => ({
    design_goals: goals ?? inRequest,
    user_requirement: request,
  })),
  optimize_parameters: action(optimizeParameters, ({ circuitOrResult, metrics, hasMetrics, goals, history }) => ({
    circuit: circuitOrResult,
    metrics: hasMetrics ? metrics : inRequest,
    design_goals: goals ?? inRequest,
    history,
  })),
  fix_error: action(fixError, ({ error, request, circuitOrResult, history }) => ({
    error: error ?? request,
    circuit: circuitOrResult,
    history,
  })),
  write_report: action(writeReport, ({ circuit, goals, metrics, history }) => ({
    circuit,
    design_goals: goals,
    metrics,
    history,
  })),
  extract_design_goals: action(extractDesignGoals, ({ request, goals }) => ({
    user_requirement: request,
    context: goals,
    goals_path: defaultGoals,
  })),
  analyze_simulation: action(analyzeSimulation, ({ metrics, goals, circuit }) => ({
    metrics: metrics ?? inRequest,
    design_goals: goals ?? inRequest,
    circuit,
  })),
  execute_instruction: action(executeInstruction, ({ request, circuit }) => ({ instruction: request, circuit })),
  general_conversation: action(generalConversation, ({ request }) => ({ message: request })),
};

/** The action chosen after an iteration; `null`: something else; `undefined`: no choice. */
export function actionAtCheckpoint(messages: readonly BaseMessage[]): string | null | undefined {
  const chosen = chosenAtCheckpoint(messages);
  if (chosen === "continue_optimizing") return "optimize_parameters";
  if (chosen === "fix_error") return "fix_error";
  return chosen === undefined ? undefined : null;
}
