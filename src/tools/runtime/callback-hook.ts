import type { CallBack } from "../../callbacks/call-back.ts";
import type { HookedCall, ToolHook } from "./hooks.ts";
import type { ToolResult } from "./tool.ts";

/** The hook by which callbacks see tool calls. */
export function callbackHook(callBack: CallBack): ToolHook {
  const about = ({ tool, call_id, session_id, run_id }: HookedCall) => ({ tool, call_id, session_id, run_id });
  const ended = (call: HookedCall, { success }: ToolResult, milliseconds: number): void =>
    callBack("post_tool_call", { ...about(call), success, milliseconds });
  return {
    name: "callbacks",
    before: (call) => callBack("pre_tool_call", about(call)),
    after: ended,
    onError: ended,
  };
}
