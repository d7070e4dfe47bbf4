import { randomUUID } from "node:crypto";
import { AIMessage, isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import { textOf } from "@millrace/engine/message-text";
import { runLoop } from "../loop/loop.ts";
import { emit } from "../loop/request.ts";
import { promptsOf } from "../loop/services.ts";
import { planPrompt } from "../prompts/templates/plan.ts";
import type { GraphState, TaskPlan, WorkflowNode } from "../state.ts";
import { readReply } from "./intent/answer.ts";
import { goalVerbs, seams, toolVerbs } from "./intent/intent-words.ts";
import { gatherContext } from "./turn/gather-context.ts";
import { nodeRequest, offeredTools, runContext } from "./turn/node-request.ts";

const maxSteps = 10;

const PlanAnswer = z.object({
  goal: z.string().default(""),
  steps: z
    .array(
      z.object({
        id: z.coerce.string(),
        goal: z.string().min(1),
        tool: z.string().nullable().default(null),
        input: z.string().default(""),
        depends_on: z.array(z.coerce.string()).default([]),
      }),
    )
    .min(1)
    .max(maxSteps),
});

/**
 * Writes the plan of the request and tells it briefly before the work begins. A model that twice gives no usable plan
 * leaves one of the tasks that the request joins, or of the request itself.
 */
export const plan: WorkflowNode = async (state, config) => {
  const request = textOf(state.messages.findLast(isHumanMessage)?.content ?? "");
  const taskPlan = await makePlan(state, config, request);
  emit(config, { type: "plan", plan: taskPlan });
  const lines = taskPlan.steps.map((step, index) => `${index + 1}. ${step.goal}`);
  const announcement = new AIMessage({
    id: randomUUID(),
    content: lines.join("\n"),
    additional_kwargs: { timestamp: new Date().toISOString(), plan: true },
  });
  return {
    task_plan: taskPlan,
    messages: taskPlan.steps.length > 1 ? [announcement] : [],
  };
};

async function makePlan(state: GraphState, config: LangGraphRunnableConfig, request: string): Promise<TaskPlan> {
  const tools = offeredTools(runContext(config), config).map((tool) => tool.name);
  const gathered = await gatherContext(state, config);
  const ask = async (problem: string | null) => {
    const task = planPrompt({ tools, problem }, promptsOf(config));
    const options = { task, tools: [], silent: true, gathered };
    const outcome = await runLoop(nodeRequest("plan", state, config, { ...options, role: "plan" }), config);
    // No reply came in time, or a person has passed it over: another question would only wait once more.
    const isLost = outcome.end_reason === "timeout" || outcome.end_reason === "error";
    return { ...readReply("plan", outcome.final_response, PlanAnswer, config), isLost };
  };
  const first = await ask(null);
  const answer = first.kind === "value" || first.isLost ? first : await ask(first.problem);
  if (answer.kind === "unreadable") return plainPlan(request);
  return toTaskPlan(answer.value, tools);
}

/** A checked plan: unknown tools and dependencies are dropped, and a step only depends on earlier ones, so no ring. */
export function toTaskPlan(answer: z.infer<typeof PlanAnswer>, tools: readonly string[]): TaskPlan {
  const earlier = new Set<string>();
  const steps = answer.steps.map((step, index) => {
    let { id } = step;
    for (let place = index + 1; earlier.has(id); place += 1) id = `${step.id}.${place}`;
    const depends_on = step.depends_on.filter((dependency) => earlier.has(dependency));
    earlier.add(id);
    const tool = step.tool !== null && tools.includes(step.tool) ? step.tool : null;
    return { ...step, id, tool, depends_on, status: "pending" as const, result: null };
  });
  return { goal: answer.goal, steps, status: "active" };
}

/**
 * The plan when the model gives none: the tasks in the order in which the request joins them, each after the one before; the request itself when it joins none.
 */
export function plainPlan(request: string): TaskPlan {
  const parts = request.split(seams).flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));
  const isTask = (part: string): boolean => [...toolVerbs, ...goalVerbs].some((verb) => verb.test(part));
  const goals = parts.length <= maxSteps && parts.every(isTask) ? parts : [request];
  const steps = goals.map((goal, index) => ({
    id: String(index + 1),
    goal,
    tool: null,
    input: "",
    depends_on: index === 0 ? [] : [String(index)],
  }));
  return toTaskPlan({ goal: request, steps }, []);
}
