import type { AIMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { isYes } from "@millrace/engine/sessions/questions/read-decision";
import { runLoop } from "../loop/loop.ts";
import { advance } from "../loop/limits/orchestration.ts";
import { emit } from "../loop/request.ts";
import { promptsOf, sessionIdOf } from "../loop/services.ts";
import { continueReply } from "../prompts/templates/continue-reply.ts";
import { replyPrompt } from "../prompts/templates/reply.ts";
import type { GraphState, Intent, TurnRoute, WorkflowNode } from "../state.ts";
import { clarificationOf, clarificationMessage } from "./intent/clarification.ts";
import type { ReadIntent } from "./intent/intent-rules.ts";
import { dropsTheWork } from "./intent/intent-words.ts";
import { gatherContext } from "./turn/gather-context.ts";
import { nodeRequest, runContext } from "./turn/node-request.ts";
import { completedReply, partialReply, removal, replaceable, wordsOfStop } from "./turn/partial-reply.ts";
import { presetOf } from "./preset-action.ts";
import { readIntent } from "./intent/read-intent.ts";
import { requestOf } from "./turn/request-words.ts";
import { writeSessionTexts } from "./system-text/session-texts.ts";
import { beginTurn, endTurn } from "./turn/turn.ts";

/**
 * Decides where a turn goes: what the run says, then the user's words. A direct reply is given here, and so is the rest of
 * a partial one; what is to be given anew is removed first.
 */
export const intent: WorkflowNode = async (state, config) => {
  switch (runContext(config).partial) {
    case "continue":
      return await completeReply(state, config);
    case "regenerate":
      return await takeUpWithout(replaceable(state.messages), state, config);
    default: {
      // A run that brings nothing new after a stop tries the stopped turn again: its last words are no reply.
      const words = wordsOfStop(state.messages);
      return words === undefined ? await takeUp(state, config) : await takeUpWithout([words], state, config);
    }
  }
};

async function takeUpWithout(parts: AIMessage[], state: GraphState, config: LangGraphRunnableConfig) {
  const messages = state.messages.filter((message) => !parts.some(({ id }) => id === message.id));
  const update = await takeUp({ ...state, messages }, config);
  return { ...update, messages: [...removal(parts), ...update.messages] };
}

/** The rest of a partial reply, without tools. The turn ends with it. */
async function completeReply(state: GraphState, config: LangGraphRunnableConfig) {
  const parts = partialReply(state.messages);
  const begun = beginTurn(state, config);
  const known: Intent = { kind: "information", extent: "full", priorities: [], implicit_needs: [] };
  emit(config, { type: "intent", route: "reply", reason: "continues a partial reply", ...known });
  const request = nodeRequest("intent", { ...state, ...begun }, config, {
    task: replyPrompt(promptsOf(config)),
    tools: [],
    instruction: continueReply(promptsOf(config)),
  });
  const outcome = await runLoop(request, config);
  return {
    route: "reply" as const,
    ...endTurn(begun, outcome, config),
    messages: completedReply(parts, outcome.final_response),
  };
}

/** Reads the intent and sends the turn on its way; asks before an unclear one, and answers what needs no tools. */
async function takeUp(before: GraphState, config: LangGraphRunnableConfig) {
  const begun = beginTurn(before, config);
  const written = await writeSessionTexts(before, runContext(config), config);
  const state = { ...before, ...begun, ...written };
  const read = readIntent(state, before.clarification !== null, config);
  const { route: found, reason, ...wanted } = read;
  const request = requestOf(state.messages);
  const confirmed = isYes(request);
  const orchestration = {
    ...begun.orchestration,
    requires_confirm: begun.orchestration.requires_confirm && !confirmed,
  };
  const route: TurnRoute = mayAsk(read, state, config) ? "clarify" : found;
  emit(config, { type: "intent", route, reason, ...wanted });
  const update = {
    ...begun,
    ...written,
    session_id: sessionIdOf(config) || state.session_id,
    wanted,
    route,
    // A list of steps that is not through stays until the model writes another, or the user drops the work.
    task_plan: state.task_plan?.status === "active" && !dropsTheWork.test(request) ? state.task_plan : null,
    orchestration,
    messages: [],
  };
  if (route === "clarify") {
    const clarification = await clarificationOf(state, config);
    const decided = { ...orchestration, state: advance(config, orchestration.state, "decide") };
    return { ...update, clarification, orchestration: decided, messages: [clarificationMessage(clarification)] };
  }
  if (route !== "reply") return update;
  const task = replyPrompt(promptsOf(config));
  const gathered = await gatherContext(state, config);
  const outcome = await runLoop(nodeRequest("intent", state, config, { task, tools: [], gathered }), config);
  return { ...update, ...endTurn({ orchestration }, outcome, config), messages: outcome.messages };
}

/** An unclear request is asked about once, unless the run forbids it or says itself what to do. */
function mayAsk({ kind, route }: ReadIntent, state: GraphState, config: LangGraphRunnableConfig): boolean {
  const { clarify = true, mode, selected_tool } = runContext(config);
  const action_type = presetOf(state, runContext(config));
  const isChosen = [mode, selected_tool, action_type].some((choice) => choice !== undefined);
  return kind === "unclear" && route !== "reply" && clarify && !isChosen;
}
