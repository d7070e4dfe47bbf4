import { AppError } from "@millrace/engine/errors/errors";
import type { Prompts } from "../prompts/prompts.ts";
import type { GraphState, RunContext } from "../state.ts";
import { workflowAdditions } from "../toolkits/composition.ts";

/** The preset action of this turn: chosen by the user at a toolkit's node, else by the run. */
export function presetOf({ messages }: Pick<GraphState, "messages">, context: RunContext): string | undefined {
  for (const { chosenAction } of workflowAdditions()) {
    const chosen = chosenAction?.(messages);
    if (chosen !== undefined) return chosen ?? undefined;
  }
  return context.action_type;
}

/** The task text of a preset action. Throws `invalid_parameter` if no toolkit has it. */
export function presetTask(name: string, state: GraphState, prompts: Prompts): string {
  const action = workflowAdditions().flatMap(({ actions }) => actions?.[name] ?? [])[0];
  if (action !== undefined) return action.task(state, prompts);
  throw new AppError("invalid_parameter", `No toolkit of this server has the action "${name}".`, {
    suggestion: "GET /assistants/agent/schemas shows which actions there are.",
  });
}
