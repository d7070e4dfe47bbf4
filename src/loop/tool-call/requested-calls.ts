import type { AIMessage } from "@langchain/core/messages";
import { callsPerReply } from "../limits/limits.ts";
import { isForcedNow } from "../model-call/callable-tools.ts";
import { cutCalls } from "../reply/reply-message.ts";
import type { LoopCall } from "../request.ts";
import type { LoopState } from "../state.ts";
import { ledgerIdOf } from "../../tools/runtime/ledger-id.ts";
import type { RequestedCall } from "./tool-task.ts";

/** A reply's calls; those above the limit are marked. */
export function requestedCalls(
  answer: AIMessage,
  { messages, iteration_count: iteration }: Pick<LoopState, "messages" | "iteration_count">,
  loop: LoopCall,
): RequestedCall[] {
  const maxCalls = callsPerReply(loop);
  // Parallel agents do not see each other's ids, which some servers repeat.
  const place = loop.agent === undefined ? "" : `${loop.agent.id}/`;
  const cut = cutCalls(answer);
  const isForced = isForcedNow(messages.slice(0, -1), loop);
  const besideAgents = asksAgents(answer, loop);
  return (answer.tool_calls ?? []).map((call, index) => ({
    call: { id: call.id ?? "", name: call.name, args: call.args },
    ledger_id: place + ledgerIdOf(String(answer.id), index),
    iteration,
    over_limit: index >= maxCalls,
    ...(isForced ? { forced: true as const } : {}),
    ...(cut.has(call.id) ? { cut: true as const } : {}),
    ...(besideAgents ? { beside_agents: true as const } : {}),
  }));
}

/** Whether a reply's calls may start agents, which run after all its other calls. */
function asksAgents({ tool_calls = [] }: AIMessage, { tools }: LoopCall): boolean {
  return tool_calls.some(({ name }) =>
    tools.some((tool) => tool.name === name && tool.inTurn?.delegates !== undefined),
  );
}
