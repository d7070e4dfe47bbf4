import type { Logger } from "@millrace/engine/logger";
import type { HookedCall, ToolHook } from "./hooks.ts";

/** A hook that writes a line when a call begins (debug), when it has ended well (info) and when it has failed (error). */
export function toolLog(logger: Logger): ToolHook {
  const fields = ({ tool, session_id, run_id, call_id }: HookedCall) => ({ tool, session_id, run_id, call_id });
  return {
    name: "tool_log",
    before: (call) => logger.debug(fields(call), "tool_started"),
    after: (call, _result, milliseconds) => logger.info({ ...fields(call), duration_ms: milliseconds }, "tool_ended"),
    onError: (call, result, milliseconds) =>
      logger.error(
        { ...fields(call), duration_ms: milliseconds, code: result.code, error_type: result.errorType },
        "tool_failed",
      ),
  };
}
