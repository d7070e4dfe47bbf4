import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { assertNever } from "@millrace/engine/errors/errors";
import { runLoop, type LoopOutcome } from "../loop/loop.ts";
import { emit } from "../loop/request.ts";
import { promptsOf } from "../loop/services.ts";
import { finalAnswerInstruction, finalAnswerPrompt } from "../prompts/templates/final-answer.ts";
import { freeWorkPrompt } from "../prompts/templates/free-work.ts";
import { planStepInstruction, planStepPrompt } from "../prompts/templates/plan-step.ts";
import type { GraphState, PlanStep, TaskPlan, WorkflowNode } from "../state.ts";
import { gatherContext } from "./turn/gather-context.ts";
import { nodeRequest, runContext } from "./turn/node-request.ts";
import { nextWork, withStep } from "./plan/plan-progress.ts";
import { presetOf, presetTask } from "./preset-action.ts";
import { requestOf } from "./turn/request-words.ts";
import { afterLoop, endTurn } from "./turn/turn.ts";

const resultLength = 500;

/**
 * Carries out: without a plan, one instruction, a preset action or the selected tool; with a plan, one step at each
 * visit, in the order of the dependencies, and after the last step one short answer. Each visit calls the loop once.
 */
export const action: WorkflowNode = async (state, config) => {
  const respond = (outcome: LoopOutcome) => ({ messages: outcome.messages, ...endTurn(state, outcome, config) });
  const taskPlan = state.task_plan;
  if (taskPlan === null) {
    const preset = presetOf(state, runContext(config));
    const prompts = promptsOf(config);
    const task = preset === undefined ? freeWorkPrompt(prompts) : presetTask(preset, state, prompts);
    const gathered = await gatherContext(state, config);
    return respond(await runLoop(nodeRequest("action", state, config, { task, gathered }), config));
  }
  const work = nextWork(taskPlan);
  switch (work.kind) {
    case "step":
      return await carryOut(work, taskPlan, state, config);
    case "answer": {
      const request = nodeRequest("action", state, config, {
        task: finalAnswerPrompt(promptsOf(config)),
        tools: [],
        instruction: finalAnswerInstruction({ request: requestOf(state.messages) }),
        gathered: await gatherContext(state, config),
      });
      const answered = respond(await runLoop(request, config));
      return { ...answered, task_plan: { ...taskPlan, status: work.failed ? "failed" : "done" } };
    }
    case "over":
      return endTurn(state, undefined, config);
    default:
      return assertNever(work);
  }
};

/** One step. A plan of one step needs no summary of its own: the step's reply is the answer, and the turn is over. */
async function carryOut(
  { step, number }: { step: PlanStep; number: number },
  taskPlan: TaskPlan,
  state: GraphState,
  config: LangGraphRunnableConfig,
) {
  const total = taskPlan.steps.length;
  emit(config, { type: "plan", plan: withStep(taskPlan, step.id, { status: "running" }) });
  const request = nodeRequest("action", state, config, {
    task: planStepPrompt({ tool: step.tool }, promptsOf(config)),
    instruction: planStepInstruction({ number, total, goal: step.goal, input: step.input }),
    isPart: total > 1,
    gathered: await gatherContext(state, config),
  });
  const outcome = await runLoop(request, config);
  const status = ["answered", "completed"].includes(outcome.end_reason) ? "done" : "failed";
  const done = withStep(taskPlan, step.id, { status, result: outcome.final_response.slice(0, resultLength) });
  emit(config, { type: "plan", plan: done });
  const { messages } = outcome;
  // A person who ends the turn ends the plan.
  return total === 1 || outcome.end_reason === "cancelled"
    ? { messages, task_plan: { ...done, status }, ...endTurn(state, outcome, config) }
    : { messages, task_plan: done, ...afterLoop(state, outcome, "decide", config) };
}
