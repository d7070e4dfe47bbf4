import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { textOf } from "@millrace/engine/message-kinds";
import type { GraphState, Route } from "../../state.ts";
import { intentByRules, type ReadIntent } from "./intent-rules.ts";
import { dropsTheWork } from "./intent-words.ts";
import { isPlanning } from "../plan-mode.ts";
import { runContext } from "../turn/node-request.ts";
import { workflowAdditions } from "../../toolkits/composition.ts";
import { presetOf } from "../preset-action.ts";

/**
 * The intent of the turn: from the run's context, else from the user's words. `isAnswer`: the last message answers a
 * question about the one before it; both are read together.
 */
export function readIntent(state: GraphState, isAnswer: boolean, config: LangGraphRunnableConfig): ReadIntent {
  const context = runContext(config);
  const requests = lastRequests(state.messages).map(({ content }) => textOf(content));
  const text = requests.slice(isAnswer && !dropsTheWork.test(requests.at(-1) ?? "") ? -2 : -1).join("\n");
  const byRules = intentByRules(text, { hasContext: hasContext(state) });
  const chosen = (route: Route, reason: string): ReadIntent => ({ ...byRules, route, reason });
  if (isPlanning(state, context)) {
    return chosen((context.mode ?? byRules.route) === "reply" ? "reply" : "free_work", "plan mode");
  }
  const preset = presetOf(state, context);
  if (preset !== undefined) return chosen("action", `the action ${preset} was chosen`);
  if (context.mode !== undefined) return chosen(context.mode, "chosen by the run");
  if (context.selected_tool !== undefined) return chosen("action", `the tool ${context.selected_tool} was selected`);
  if ((context.chat_mode ?? state.chat_mode) === "chat") return chosen("reply", "chat mode");
  return byRules;
}

/** The user's last two messages, oldest first. */
function lastRequests(messages: readonly BaseMessage[]): BaseMessage[] {
  const at = messages.findLastIndex((message) => isHumanMessage(message));
  const before = messages.findLast((message, index) => index < at && isHumanMessage(message));
  return [before, messages[at]].filter((message) => message !== undefined);
}

/**
 * Whether the session says what an unclear request may mean: earlier messages, attached parts, a summary, an error, a
 * toolkit's work.
 */
export function hasContext(state: GraphState): boolean {
  const requests = lastRequests(state.messages);
  const last = requests.at(-1)?.content;
  const hasParts = Array.isArray(last) && last.some(({ type }) => type !== "text");
  return (
    requests.length > 1 ||
    hasParts ||
    state.conversation_summary !== null ||
    Boolean(state.error_context) ||
    worksOnSomething(state)
  );
}

/** Whether a toolkit's field of the state is set; session texts do not count, they are about the user. */
function worksOnSomething(state: GraphState): boolean {
  const values: Readonly<Record<string, unknown>> = state;
  const fields = workflowAdditions().flatMap(({ state: own = {}, sessionText }) =>
    Object.keys(own).filter((field) => field !== sessionText?.field),
  );
  return fields.some((field) => values[field] !== null && values[field] !== undefined);
}
