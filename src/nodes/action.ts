import type { BaseMessage } from "@langchain/core/messages";
import { isHumanMessage } from "@langchain/core/messages";
import { textOf } from "../context/tokens.ts";
import { assertNever } from "../errors.ts";
import { runLoop } from "../loop/loop.ts";
import { emit } from "../loop/request.ts";
import { finalAnswerPrompt } from "../prompts/final-answer.ts";
import { freeWorkPrompt } from "../prompts/free-work.ts";
import { planStepInstruction, planStepPrompt } from "../prompts/plan-step.ts";
import type { GraphState, TaskPlan, WorkflowNode } from "../state.ts";
import { lastToolOf, nodeRequest, replyText } from "./node-request.ts";
import { nextWork, withStep } from "./plan-progress.ts";

const resultLength = 500;

/**
 * Carries out: without a plan, one instruction (or the selected tool); with a plan, one step at each visit, in the order of
 * the dependencies, and after the last step one short answer. Each visit calls the loop once.
 */
export const action: WorkflowNode = async (state, config) => {
  const respond = (messages: BaseMessage[]) => ({
    messages,
    orchestration: { ...state.orchestration, ...lastToolOf(messages), state: "respond" as const },
  });
  const taskPlan = state.task_plan;
  if (taskPlan === null) {
    const { messages } = await runLoop(nodeRequest("action", state, config, { task: freeWorkPrompt() }), config);
    return respond(messages);
  }
  const work = nextWork(taskPlan);
  switch (work.kind) {
    case "step": {
      const { step, number } = work;
      emit(config, { type: "plan", plan: withStep(taskPlan, step.id, { status: "running" }) });
      const instruction = planStepInstruction({
        number,
        total: taskPlan.steps.length,
        goal: step.goal,
        input: step.input,
      });
      const request = nodeRequest("action", state, config, { task: planStepPrompt({ tool: step.tool }), instruction });
      const { messages, end_reason } = await runLoop(request, config);
      const done = withStep(taskPlan, step.id, {
        status: end_reason === "answered" ? "done" : "failed",
        result: replyText(messages).slice(0, resultLength),
      });
      emit(config, { type: "plan", plan: done });
      return {
        messages,
        task_plan: single(done) ? { ...done, status: done.steps[0]?.status === "done" ? "done" : "failed" } : done,
        orchestration: { ...state.orchestration, ...lastToolOf(messages), state: "decide" },
      };
    }
    case "answer": {
      const request = nodeRequest("action", state, config, {
        task: finalAnswerPrompt(),
        tools: [],
        instruction: originalRequest(state),
      });
      const { messages } = await runLoop(request, config);
      return { ...respond(messages), task_plan: { ...taskPlan, status: work.failed ? "failed" : "done" } };
    }
    case "over":
      return { orchestration: { ...state.orchestration, state: "respond" } };
    default:
      return assertNever(work);
  }
};

/** A plan of one step needs no summary of its own: the step's reply is the answer. */
function single(taskPlan: TaskPlan): boolean {
  return taskPlan.steps.length === 1;
}

function originalRequest(state: GraphState): string {
  const request = textOf(state.messages.findLast(isHumanMessage)?.content ?? "");
  return `All steps are through. The request was: ${request}`;
}
