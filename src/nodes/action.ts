import { runLoop } from "../loop/loop.ts";
import { promptsOf } from "../loop/services.ts";
import { freeWorkPrompt } from "../prompts/templates/free-work.ts";
import type { TaskPlan, WorkflowNode } from "../state.ts";
import { gatherContext } from "./turn/gather-context.ts";
import { nodeRequest, runContext } from "./turn/node-request.ts";
import { presetOf, presetTask } from "./preset-action.ts";
import { endTurn } from "./turn/turn.ts";

/** Does what the run chose: a toolkit's preset action, one tool, or the rest of a plan. */
export const action: WorkflowNode = async (state, config) => {
  const prompts = promptsOf(config);
  const context = runContext(config);
  const preset = presetOf(state, context);
  const task = preset === undefined ? freeWorkPrompt(prompts) : presetTask(preset, state, prompts);
  const isOwn = preset === undefined && context.selected_tool === undefined;
  const instruction = isOwn && state.task_plan?.status === "active" ? restOf(state.task_plan) : undefined;
  const gathered = await gatherContext(state, config);
  const outcome = await runLoop(nodeRequest("action", state, config, { task, gathered, instruction }), config);
  // Steps of such a plan are not reported one by one: the reply marks them all done.
  const done = instruction === undefined || state.task_plan === null ? {} : { task_plan: withEnd(state.task_plan) };
  return { messages: outcome.messages, ...done, ...endTurn(state, outcome, config) };
};

/** The open steps of a plan from an earlier turn or release. */
function restOf({ steps }: TaskPlan): string {
  const left = steps.filter(({ status }) => status === "pending" || status === "running");
  return ["Go on with the plan. These steps are left:", ...left.map(({ id, goal }) => `${id}. ${goal}`)].join("\n");
}

function withEnd(plan: TaskPlan): TaskPlan {
  const steps = plan.steps.map((step) =>
    step.status === "pending" || step.status === "running" ? { ...step, status: "done" as const } : step,
  );
  return { ...plan, steps, status: "done" };
}
