import { isAIMessage } from "@langchain/core/messages";
import { Send, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { loopCall } from "./request.ts";
import { ruleOn } from "./rulings.ts";
import type { LoopState } from "./state.ts";
import type { RequestedCall, RuledCall } from "./tool-task.ts";

/**
 * What comes after a model call: one check per requested call, with what the rules say of it, or the end. Calls of a
 * closing reply are not followed.
 */
export async function afterModel(
  state: Pick<LoopState, "messages" | "closing" | "end_reason" | "iteration_count">,
  config: LangGraphRunnableConfig,
): Promise<Send[] | "finish"> {
  const calls = requestedCalls(state, loopCall(config).limits.max_tool_calls_per_turn, Date.now());
  if (calls.length === 0) return "finish";
  return Promise.all(
    calls.map(async (call) => {
      const ruled: RuledCall = { ...call, ruling: await ruleOn(call, config) };
      return new Send("check_calls", ruled);
    }),
  );
}

/** The calls that the last reply asks for. `maxCalls` is the number that one reply may hold (LOOP-03). */
function requestedCalls(
  state: Pick<LoopState, "messages" | "closing" | "end_reason" | "iteration_count">,
  maxCalls: number,
  now: number,
): RequestedCall[] {
  if (state.end_reason !== null || state.closing !== null) return [];
  const answer = state.messages.at(-1);
  if (answer === undefined || !isAIMessage(answer)) return [];
  return (answer.tool_calls ?? []).map((call, index) => ({
    call: { id: call.id ?? "", name: call.name, args: call.args },
    ledger_id: `${answer.id}/${index}`,
    iteration: state.iteration_count,
    asked_at: now,
    over_limit: index >= maxCalls,
  }));
}
