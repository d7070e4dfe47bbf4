import { AppError } from "@millrace/engine/errors/errors";
import type { Prompts } from "../prompts/prompts.ts";
import type { GraphState, RunContext } from "../state.ts";
import { workflowAdditions } from "../toolkits/composition.ts";

/** The action of this turn: what a person has just chosen at a node of a toolkit, else what the run says. */
export function presetOf({ messages }: Pick<GraphState, "messages">, context: RunContext): string | undefined {
  for (const { chosenAction } of workflowAdditions()) {
    const chosen = chosenAction?.(messages);
    if (chosen !== undefined) return chosen ?? undefined;
  }
  return context.action_type;
}

/** The task text (L1) of a preset action. Throws `invalid_parameter` for one that no toolkit has. */
export function presetTask(name: string, state: GraphState, prompts: Prompts): string {
  const action = workflowAdditions().flatMap(({ actions }) => actions?.[name] ?? [])[0];
  if (action !== undefined) return action.task(state, prompts);
  throw new AppError("invalid_parameter", `No toolkit of this server has the action "${name}".`, {
    suggestion: "GET /assistants/agent/schemas shows which actions there are.",
  });
}
