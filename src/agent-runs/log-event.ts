import type { CustomEvent } from "../events.ts";
import type { Logger } from "@millrace/engine/logger";
import type { Run } from "@millrace/engine/storage/records";

type Level = "debug" | "info" | "warn";
interface Line {
  level: Level;
  fields: Record<string, unknown>;
}

/**
 * Writes a run's events to the program's log: state changes, calls and results at `debug`, error handling at `warn`.
 * Content from users, models and tools is logged only at `debug`. Detected loops and call times are logged elsewhere.
 */
export function logEvent(logger: Pick<Logger, Level | "isLevelEnabled">, run: Run, event: CustomEvent): void {
  const line = lineOf(event);
  if (line === undefined || !logger.isLevelEnabled(line.level)) return;
  logger[line.level]({ run_id: run.run_id, session_id: run.session_id, ...line.fields }, event.type);
}

function lineOf(event: CustomEvent): Line | undefined {
  switch (event.type) {
    case "agentic_loop.state_changed":
    case "orchestration_changed":
    case "agentic_loop.tool_called":
    case "agentic_loop.tool_result":
    case "forced_continuation":
    case "output_continued": {
      const { type: _, ...fields } = event;
      return { level: "debug", fields };
    }
    case "tool_status": {
      const { tool_call_id, tool_name, status } = event;
      return { level: "debug", fields: { tool_call_id, tool_name, status } };
    }
    case "model_changed":
    case "work_mode_changed":
    case "agentic_loop.complete": {
      const { type: _, ...fields } = event;
      return { level: "info", fields };
    }
    // Without `reason`: a provider or tool may have quoted the user.
    case "retry":
      return { level: "warn", fields: { what: event.what, attempt: event.attempt } };
    case "degraded":
      return { level: "warn", fields: { plan: event.plan, error_type: event.error_type } };
    case "agentic_loop.error":
      return { level: "warn", fields: { error_type: event.error_type } };
    default:
      return undefined;
  }
}
