import type { PrunedView, LoopState } from "../state.ts";
import { isHumanMessage, isSystemMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { deletionList, hidesMessages } from "../../context/pruning/deletion-marks.ts";
import { withHint } from "../../context/hints.ts";
import { prune, type Pruned } from "../../context/pruning/prune.ts";
import { repairToolPairs, textOf } from "@millrace/engine/message-kinds";
import { shortIds } from "../../context/pruning/short-ids.ts";
import { countMessages } from "../../context/tokens/tokens.ts";
import { errorMessage } from "@millrace/engine/errors/errors";
import { toolCleared } from "../../prompts/templates/tool-cleared.ts";
import { builtInPrompts } from "../../prompts/prompts.ts";
import { writeTool } from "../../tools/conversation/deletion-list.ts";
import { emit, type LoopCall } from "../request.ts";
import { runIdOf, servicesOf, sessionIdOf } from "../services.ts";

/** The conversation pruned to `maxTokens` tokens; cached per state of the messages. */
export function prunedView({ messages }: Pick<LoopState, "messages">, call: LoopCall, maxTokens: number): PrunedView {
  const last = messages.at(-1);
  const known = call.shown;
  if (known !== undefined && known.last === last && known.count === messages.length && known.maxTokens === maxTokens) {
    return known.shown;
  }
  const shown = computeView(messages, call, maxTokens);
  call.shown = { last, count: messages.length, maxTokens, shown };
  return shown;
}

function computeView(messages: BaseMessage[], call: LoopCall, maxTokens: number): PrunedView {
  // System texts are in the one system message: some providers refuse a second.
  const shows = (message: BaseMessage): boolean => !isEmptyPartial(message) && !isSystemMessage(message);
  const history = repairToolPairs(call.visible.filter(shows));
  const turn = repairToolPairs(messages);
  const isMarked = markedIn(messages, call);
  const whole = countMessages(history) + countMessages(turn);
  if (isMarked === undefined && whole <= maxTokens) {
    return { history, turn, tokens: whole, whole, deleted: 0, cleared: 0, problem: undefined };
  }
  const all = [...history, ...turn];
  let pruned: Pruned = { messages: all, deleted: 0, cleared: 0 };
  let problem: unknown;
  try {
    const prompts = call.prompts ?? builtInPrompts;
    const textFor = (tool: string): string => prompts.text(toolCleared, { tool });
    pruned = prune(all, { isMarked: isMarked ?? (() => false), maxTokens, textFor });
  } catch (error) {
    problem = error;
  }
  const present = (part: (BaseMessage | undefined)[]): BaseMessage[] => part.filter((message) => message !== undefined);
  const kept = {
    history: present(pruned.messages.slice(0, history.length)),
    turn: present(pruned.messages.slice(history.length)),
  };
  const tokens = countMessages(kept.history) + countMessages(kept.turn);
  const { deleted, cleared } = pruned;
  return { ...kept, tokens, whole, deleted, cleared, problem };
}

/** Messages the model marked for deletion, if any, except the current request. */
function markedIn(messages: readonly BaseMessage[], call: LoopCall): ((message: BaseMessage) => boolean) | undefined {
  if (!hidesMessages(call.history) && !hidesMessages(messages)) return undefined;
  const all = [...call.history, ...messages];
  const list = new Set(deletionList(all));
  if (list.size === 0) return undefined;
  const request = call.history.findLast((message) => isHumanMessage(message))?.id;
  const short = shortIds(all);
  return ({ id }) => id !== undefined && id !== request && list.has(short.get(id) ?? "");
}

/** A stop during reasoning leaves an empty message, which some providers refuse. */
function isEmptyPartial(message: BaseMessage): boolean {
  return message.additional_kwargs["is_partial"] === true && textOf(message.content) === "";
}

/** Whether the model can mark messages for deletion; only then they carry hints. */
export function hasHints({ tools }: Pick<LoopCall, "tools">): boolean {
  return tools.some(({ name }) => name === writeTool);
}

/** Adds hints to messages if the model can use them. */
export function hinted(shown: BaseMessage[], { messages }: Pick<LoopState, "messages">, call: LoopCall): BaseMessage[] {
  if (!hasHints(call)) return shown;
  const short = shortIds([...call.history, ...messages]);
  return shown.map((message) => {
    const id = short.get(message.id ?? "");
    return id === undefined ? message : withHint(message, id);
  });
}

/** Emits what was pruned, or why not, once per change. */
export function emitPruning(shown: PrunedView, call: LoopCall, config: LangGraphRunnableConfig): void {
  const { deleted, cleared, tokens, whole, problem } = shown;
  const key = problem === undefined ? `pruned ${deleted} ${cleared}` : "not pruned";
  if ((deleted + cleared === 0 && problem === undefined) || call.emitted.has(key)) return;
  call.emitted.add(key);
  const { logger } = servicesOf(config);
  const about = { session_id: sessionIdOf(config), run_id: runIdOf(config) };
  if (problem !== undefined) {
    emit(config, { type: "context_not_pruned", reason: errorMessage(problem) });
    logger?.warn({ ...about, err: problem }, "context_not_pruned");
    return;
  }
  const counts = { deleted, cleared, tokens_before: whole, tokens_after: tokens };
  emit(config, { type: "context_pruned", ...counts });
  logger?.info({ ...about, ...counts }, "context_pruned");
}
