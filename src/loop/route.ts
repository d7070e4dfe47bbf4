import { isAIMessage } from "@langchain/core/messages";
import { Send } from "@langchain/langgraph";
import type { LoopState } from "./state.ts";
import type { RequestedCall } from "./tool-task.ts";

/**
 * What comes after a model call: one check per requested call, or the end. Calls of a closing reply are not followed.
 * `maxCalls` is the number of calls one reply may hold (LOOP-03).
 */
export function afterModel(
  state: Pick<LoopState, "messages" | "closing" | "end_reason" | "iteration_count">,
  maxCalls: number,
  now: number,
): Send[] | "finish" {
  if (state.end_reason !== null || state.closing !== null) return "finish";
  const answer = state.messages.at(-1);
  if (answer === undefined || !isAIMessage(answer)) return "finish";
  const calls = answer.tool_calls ?? [];
  if (calls.length === 0) return "finish";
  return calls.map((call, index) => {
    const requested: RequestedCall = {
      call: { id: call.id ?? "", name: call.name, args: call.args },
      ledger_id: `${answer.id}/${index}`,
      iteration: state.iteration_count,
      asked_at: now,
      over_limit: index >= maxCalls,
    };
    return new Send("check_calls", requested);
  });
}
