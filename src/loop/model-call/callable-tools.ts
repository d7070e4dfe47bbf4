import { isAIMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { toolNotCalledPrompt } from "../../prompts/templates/tool-not-called.ts";
import { prepareCall } from "../../tools/runtime/run-tool.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { toolRequested, type TurnProgress } from "../after-reply.ts";
import { cutCalls } from "../reply/reply-message.ts";
import type { LoopRequest } from "../request.ts";
import type { LoopState } from "../state.ts";
import { writtenArguments } from "../tool-call/tool-task.ts";

/** Tries to get a usable call of the chosen tool. */
const maxTries = 3;

/**
 * Whether the next call must be the chosen tool. It runs exactly once, so a call with unusable arguments is requested
 * again, up to `maxTries`. `messages` are the loop's.
 */
export function isForcedNow(
  messages: readonly BaseMessage[],
  { tools, forcedTool }: Pick<LoopRequest, "tools" | "forcedTool">,
): boolean {
  const chosen = tools.find(({ name }) => name === forcedTool);
  if (chosen === undefined) return forcedTool !== undefined && messages.length === 0;
  const replies = messages.filter((message) => isAIMessage(message));
  return replies.length < maxTries && !replies.some((reply) => hasCalled(chosen, reply));
}

/** Whether the reply's first call, the only one executed, is a usable call of this tool. */
function hasCalled(tool: Tool, reply: AIMessage): boolean {
  const [call] = reply.tool_calls ?? [];
  if (call === undefined || call.name !== tool.name || cutCalls(reply).has(call.id)) return false;
  return prepareCall(tool, writtenArguments(call.args)).kind === "ready";
}

/** The chosen tool, as long as it was not called. */
export function uncalledTool(state: LoopState, call: LoopRequest): TurnProgress["uncalled"] {
  const { forcedTool, prompts, silent } = call;
  if (forcedTool === undefined || silent || !isForcedNow(state.messages, call)) return null;
  const wasPrompted = state.forced?.kind === toolRequested;
  return { tool: forcedTool, prompt: toolNotCalledPrompt(forcedTool, prompts), wasPrompted };
}

/** The callable tools: with a chosen tool, first only that one, then only the others. */
export function callableTools(
  { tools, forcedTool }: Pick<LoopRequest, "tools" | "forcedTool">,
  isForced: boolean,
): Tool[] {
  if (forcedTool === undefined) return tools;
  return tools.filter(({ name }) => (name === forcedTool) === isForced);
}

/** The tools shown to the model: those of its first request, once known. */
export function visibleTools(
  { tools, hidden }: Pick<LoopRequest, "tools" | "hidden">,
  { offered }: Pick<LoopState, "offered">,
): Tool[] {
  if (offered !== null) return tools.filter(({ name }) => offered.includes(name));
  return hidden === undefined || hidden.size === 0 ? tools : tools.filter(({ name }) => !hidden.has(name));
}
