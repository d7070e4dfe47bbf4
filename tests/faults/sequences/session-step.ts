import type { EditWay } from "./session-edit.ts";
import { historyProblem, type WireMessage } from "@millrace/testing/model-server-script";

/** What a person may do to a session. */
export type Step =
  | { kind: "send"; strategy: "reject" | "enqueue" | "interrupt" | "rollback"; words: "short" | "slow" | "ask" }
  | { kind: "stop"; action: "interrupt" | "rollback" }
  | { kind: "approve"; yes: boolean }
  | { kind: "fork"; back: number }
  | { kind: "edit"; which: number; way: EditWay }
  | { kind: "copy" }
  | { kind: "delete" }
  | { kind: "pause"; milliseconds: number }
  /** Waits until nothing works. */
  | { kind: "rest" };

/** What a strict provider would say against a stored history. */
export function storedProblem(
  messages: readonly { type: string; tool_call_id?: string | undefined; tool_calls?: unknown }[],
): string | undefined {
  const roles: Record<string, string> = { human: "user", ai: "assistant", tool: "tool", system: "system" };
  return historyProblem(
    messages.map(({ type, tool_call_id, tool_calls }): WireMessage => {
      const calls = Array.isArray(tool_calls)
        ? tool_calls.map((call) => ({ id: String(Reflect.get(Object(call), "id")), function: { name: "" } }))
        : [];
      return {
        role: roles[type] ?? type,
        ...(tool_call_id === undefined ? {} : { tool_call_id }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      };
    }),
  );
}
