import { z } from "zod";
import type { ToolCallRecord } from "@millrace/engine/storage/records";

/** A tool call in a session. `unknown`: the server stopped while it ran. */
export interface ToolHistoryEntry {
  call_id: string;
  message_id: string;
  run_id: string;
  tool: string;
  status: "executing" | "completed" | "failed" | "unknown";
  /** The full result, even if the model saw only part. */
  result: unknown;
  started_at: string;
  finished_at: string | null;
  duration_ms: number | null;
}

/** Statistics of one tool. Times are milliseconds, without waiting for locks. */
export interface ToolStatistics {
  tool: string;
  calls: number;
  successes: number;
  failures: number;
  total_ms: number;
  longest_ms: number;
}

const Ended = z.object({ success: z.boolean() });

/** Converts ledger rows to history entries, in the order of calls. `runningId` is the current run, if any. */
export function toolHistory(rows: readonly ToolCallRecord[], runningId: string | undefined): ToolHistoryEntry[] {
  return rows.map((row) => ({
    call_id: row.tool_call_id,
    message_id: row.tool_call_id.slice(0, Math.max(0, row.tool_call_id.lastIndexOf("/"))),
    run_id: row.run_id,
    tool: row.tool,
    status: statusOf(row, runningId),
    result: row.result,
    started_at: row.started_at,
    finished_at: row.finished_at,
    duration_ms: row.finished_at === null ? null : Date.parse(row.finished_at) - Date.parse(row.started_at),
  }));
}

/** Statistics by tool name. Unfinished calls only count as calls. */
export function toolStatistics(history: readonly ToolHistoryEntry[]): ToolStatistics[] {
  return [...Map.groupBy(history, ({ tool }) => tool)]
    .map(([tool, calls]) => {
      const times = calls.map(({ duration_ms }) => duration_ms ?? 0);
      return {
        tool,
        calls: calls.length,
        successes: calls.filter(({ status }) => status === "completed").length,
        failures: calls.filter(({ status }) => status === "failed").length,
        total_ms: times.reduce((sum, time) => sum + time, 0),
        longest_ms: times.reduce((longest, time) => Math.max(longest, time), 0),
      };
    })
    .toSorted((one, other) => (one.tool < other.tool ? -1 : 1));
}

function statusOf(row: ToolCallRecord, runningId: string | undefined): ToolHistoryEntry["status"] {
  if (row.state === "started") return row.run_id === runningId ? "executing" : "unknown";
  return Ended.safeParse(row.result).data?.success === true ? "completed" : "failed";
}
