import type { AIMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { isAffirmative } from "@millrace/engine/sessions/questions/read-decision";
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
import { completedReply, partialReply, removal, replaceable, closingMessageOf } from "./turn/partial-reply.ts";
import { presetOf } from "./preset-action.ts";
import { readIntent } from "./intent/read-intent.ts";
import { lastUserText } from "./turn/request-words.ts";
import { writeSessionTexts } from "./system-text/session-texts.ts";
import { beginTurn, endTurn } from "./turn/turn.ts";

/**
 * Decides the route of a turn: by the run's context, then by the user's words. Gives direct replies itself, completes
 * partial ones, and removes one that is to be regenerated.
 */
export const intent: WorkflowNode = async (state, config) => {
  switch (runContext(config).partial) {
    case "continue":
      return await completeReply(state, config);
    case "regenerate":
      return await routeWithout(replaceable(state.messages), state, config);
    default: {
      // A run without new input after a stop retries the stopped turn; its closing message is not a reply.
      const closing = closingMessageOf(state.messages);
      return closing === undefined ? await routeTurn(state, config) : await routeWithout([closing], state, config);
    }
  }
};

async function routeWithout(parts: AIMessage[], state: GraphState, config: LangGraphRunnableConfig) {
  const messages = state.messages.filter((message) => !parts.some(({ id }) => id === message.id));
  const update = await routeTurn({ ...state, messages }, config);
  return { ...update, messages: [...removal(parts), ...update.messages] };
}

/** Completes a partial reply, without tools, and ends the turn. */
async function completeReply(state: GraphState, config: LangGraphRunnableConfig) {
  const parts = partialReply(state.messages);
  const turnStart = beginTurn(state, config);
  const known: Intent = { kind: "information", extent: "full", priorities: [], implicit_needs: [] };
  emit(config, { type: "intent", route: "reply", reason: "continues a partial reply", ...known });
  const request = nodeRequest("intent", { ...state, ...turnStart }, config, {
    task: replyPrompt(promptsOf(config)),
    tools: [],
    instruction: continueReply(promptsOf(config)),
  });
  const outcome = await runLoop(request, config);
  return {
    route: "reply" as const,
    ...endTurn(turnStart, outcome, config),
    messages: completedReply(parts, outcome.final_response),
  };
}

/** Reads the intent and chooses the route; asks about unclear requests, and answers those that need no tools. */
async function routeTurn(before: GraphState, config: LangGraphRunnableConfig) {
  const turnStart = beginTurn(before, config);
  const written = await writeSessionTexts(before, runContext(config), config);
  const state = { ...before, ...turnStart, ...written };
  const read = readIntent(state, before.clarification !== null, config);
  const { route: found, reason, ...wanted } = read;
  const request = lastUserText(state.messages);
  const confirmed = isAffirmative(request);
  const orchestration = {
    ...turnStart.orchestration,
    requires_confirm: turnStart.orchestration.requires_confirm && !confirmed,
  };
  const route: TurnRoute = mayAsk(read, state, config) ? "clarify" : found;
  emit(config, { type: "intent", route, reason, ...wanted });
  const update = {
    ...turnStart,
    ...written,
    session_id: sessionIdOf(config) || state.session_id,
    wanted,
    route,
    // An unfinished plan stays until the model writes another, or the user drops the work.
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

/** Unclear requests are asked about once, unless the run forbids it or itself chose what to do. */
function mayAsk({ kind, route }: ReadIntent, state: GraphState, config: LangGraphRunnableConfig): boolean {
  const { clarify = true, mode, selected_tool } = runContext(config);
  const action_type = presetOf(state, runContext(config));
  const isChosen = [mode, selected_tool, action_type].some((choice) => choice !== undefined);
  return kind === "unclear" && route !== "reply" && clarify && !isChosen;
}
