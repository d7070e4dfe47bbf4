import { isAIMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { toolNotCalledPrompt } from "../../prompts/templates/tool-not-called.ts";
import { prepareCall } from "../../tools/runtime/run-tool.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { askedForTool, type Standing } from "../decide.ts";
import { cutCalls } from "../reply/reply-message.ts";
import type { LoopRequest } from "../request.ts";
import type { LoopState } from "../state.ts";
import { writtenArguments } from "../tool-call/tool-task.ts";

/** How often the tool that the user has chosen is asked for while no call of it can be used. */
const mostTries = 3;

/**
 * Whether the next call is to be that of the tool which the user has chosen: it runs exactly once, so one whose
 * arguments cannot be used is asked for again, a few times. `messages` are those of the loop so far.
 */
export function isForcedNow(
  messages: readonly BaseMessage[],
  { tools, forcedTool }: Pick<LoopRequest, "tools" | "forcedTool">,
): boolean {
  const chosen = tools.find(({ name }) => name === forcedTool);
  if (chosen === undefined) return forcedTool !== undefined && messages.length === 0;
  const replies = messages.filter((message) => isAIMessage(message));
  return replies.length < mostTries && !replies.some((reply) => hasCalled(chosen, reply));
}

/** Whether the one call of a reply that is carried out is a usable one of this tool. */
function hasCalled(tool: Tool, reply: AIMessage): boolean {
  const [call] = reply.tool_calls ?? [];
  if (call === undefined || call.name !== tool.name || cutCalls(reply).has(call.id)) return false;
  return prepareCall(tool, writtenArguments(call.args)).kind === "ready";
}

/** The tool that the user has chosen, while no call of it has come. */
export function uncalledTool(state: LoopState, call: LoopRequest): Standing["uncalled"] {
  const { forcedTool, prompts, silent } = call;
  if (forcedTool === undefined || silent || !isForcedNow(state.messages, call)) return null;
  const wasAsked = state.forced?.kind === askedForTool;
  return { tool: forcedTool, prompt: toolNotCalledPrompt(forcedTool, prompts), wasAsked };
}

/** The tools that may be called: where the user has chosen one, first it alone and then only the others. */
export function callableTools(
  { tools, forcedTool }: Pick<LoopRequest, "tools" | "forcedTool">,
  isForced: boolean,
): Tool[] {
  if (forcedTool === undefined) return tools;
  return tools.filter(({ name }) => (name === forcedTool) === isForced);
}

/** The tools that the model is told of: those of its first request, where that is known. */
export function toldTools(
  { tools, hidden }: Pick<LoopRequest, "tools" | "hidden">,
  { offered }: Pick<LoopState, "offered">,
): Tool[] {
  if (offered !== null) return tools.filter(({ name }) => offered.includes(name));
  return hidden === undefined || hidden.size === 0 ? tools : tools.filter(({ name }) => !hidden.has(name));
}
