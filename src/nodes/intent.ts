import { isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import { textOf } from "../context/tokens.ts";
import { isYes } from "../loop/approval.ts";
import { runLoop } from "../loop/loop.ts";
import { emit } from "../loop/request.ts";
import { sessionIdOf } from "../loop/services.ts";
import { continueReply } from "../prompts/continue-reply.ts";
import { intentPrompt } from "../prompts/intent.ts";
import { replyPrompt } from "../prompts/reply.ts";
import { Route, type GraphState, type WorkflowNode } from "../state.ts";
import { readJson } from "./answer.ts";
import { routeByRules, type RuledRoute } from "./intent-rules.ts";
import { nodeRequest, offeredTools, replyText, runContext } from "./node-request.ts";
import { completedReply, partialReply, removal } from "./partial-reply.ts";

const IntentAnswer = z.object({ route: Route, reason: z.string().default("") });

/**
 * Decides where a turn goes (ARCH-19): what the run says, then the rules, then a model call. A direct reply is given here,
 * and so is the rest of a partial one; to give it anew, it is removed first (STOP-09).
 */
export const intent: WorkflowNode = async (state, config) => {
  switch (runContext(config).partial) {
    case "continue":
      return await completeReply(state, config);
    case "regenerate": {
      const parts = partialReply(state.messages);
      const messages = state.messages.filter((message) => !parts.some(({ id }) => id === message.id));
      const update = await beginTurn({ ...state, messages }, config);
      return { ...update, messages: [...removal(parts), ...update.messages] };
    }
    default:
      return await beginTurn(state, config);
  }
};

/** The rest of a partial reply, without tools. The turn ends with it. */
async function completeReply(state: GraphState, config: LangGraphRunnableConfig) {
  const parts = partialReply(state.messages);
  emit(config, { type: "intent", route: "reply", reason: "continues a partial reply" });
  const request = nodeRequest("intent", state, config, {
    task: replyPrompt(),
    tools: [],
    instruction: continueReply(),
  });
  const { messages } = await runLoop(request, config);
  return {
    route: "reply" as const,
    messages: completedReply(parts, replyText(messages)),
    orchestration: { ...state.orchestration, state: "respond" as const },
  };
}

async function beginTurn(state: GraphState, config: LangGraphRunnableConfig) {
  const context = runContext(config);
  const decided = await decide(state, config);
  const confirmed = isYes(textOf(state.messages.findLast(isHumanMessage)?.content ?? ""));
  const orchestration = {
    ...state.orchestration,
    requires_confirm: state.orchestration.requires_confirm && !confirmed,
  };
  emit(config, { type: "intent", route: decided.route, reason: decided.reason });
  const update = {
    session_id: sessionIdOf(config) || state.session_id,
    work_mode: context.work_mode ?? state.work_mode,
    chat_mode: context.chat_mode ?? state.chat_mode,
    route: decided.route,
    // A plan that is still worked on goes on; one that is through has nothing to do with this request.
    task_plan: goesOn(state, decided.route, context.selected_tool) ? state.task_plan : null,
    orchestration: { ...orchestration, state: decided.route === "plan" ? "plan" : "decide" } as const,
  };
  if (decided.route !== "reply") return { ...update, messages: [] };
  const reply = await runLoop(nodeRequest("intent", state, config, { task: replyPrompt(), tools: [] }), config);
  return { ...update, messages: reply.messages, orchestration: { ...orchestration, state: "respond" as const } };
}

function goesOn(state: GraphState, route: Route, selectedTool: string | undefined): boolean {
  return route === "action" && selectedTool === undefined && state.task_plan?.status === "active";
}

async function decide(state: GraphState, config: LangGraphRunnableConfig): Promise<RuledRoute> {
  const context = runContext(config);
  if (context.mode !== undefined) return { route: context.mode, reason: "chosen by the run" };
  if (context.selected_tool !== undefined)
    return { route: "action", reason: `the tool ${context.selected_tool} was selected` };
  if ((context.chat_mode ?? state.chat_mode) === "chat") return { route: "reply", reason: "chat mode" };
  const text = textOf(state.messages.findLast(isHumanMessage)?.content ?? "");
  return routeByRules(text) ?? (await askModel(state, config));
}

/** An answer that cannot be read means free work: it can do everything the other routes can. */
async function askModel(state: GraphState, config: LangGraphRunnableConfig): Promise<RuledRoute> {
  const request = nodeRequest("intent", state, config, {
    task: intentPrompt({ tools: offeredTools(runContext(config)).map((tool) => tool.name) }),
    tools: [],
    silent: true,
  });
  const { messages } = await runLoop(request, config);
  const answer = readJson(replyText(messages), IntentAnswer);
  if (answer.kind === "value") return answer.value;
  return { route: "free_work", reason: `the model's choice could not be read: ${answer.problem}` };
}
