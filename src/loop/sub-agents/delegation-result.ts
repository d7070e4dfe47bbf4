import { failure, success, type ToolResult } from "../../tools/runtime/result.ts";
import type { Delegation } from "./delegation.ts";
import type { LoopCall } from "../request.ts";

/**
 * Combines all agents' reports into the call's result. Each reply gets an equal share of the length. It fails only if
 * no agent succeeded.
 */
export function delegationResult(work: Delegation, { limits }: Pick<LoopCall, "limits">): ToolResult {
  const share = Math.floor((limits.tool_result_max_length - 100) / work.agents.length) - 200;
  const data = work.agents.map(({ name }, index) => {
    const { reply: _, ...facts } = reportOf(work, index);
    return { name, ...facts };
  });
  const parts = work.agents.map(({ name }, index) => {
    const report = reportOf(work, index);
    const cost = report.cost === null ? "" : `, cost ${Number(report.cost.toPrecision(4))}`;
    const facts = `${report.end_reason}, ${report.iterations} iterations, ${report.tokens} tokens${cost}`;
    return `${index + 1}. ${name} (${facts}):\n${shortened(report.reply, Math.max(200, share))}`;
  });
  const good = data.filter((report) => report.success).length;
  const message = `${good} of ${data.length} agents have finished their work.`;
  const content = [message, ...parts].join("\n\n");
  return good > 0 ? success(message, { content, data }) : { ...failure("execution_failed", message), content, data };
}

function reportOf({ reports }: Delegation, index: number): Delegation["reports"][string] {
  const nothing = { iterations: 0, tokens: 0, cost: null, duration_ms: 0 };
  return reports[index] ?? { success: false, end_reason: "error", reply: "No report came.", ...nothing };
}

function shortened(text: string, maxLength: number): string {
  return text.length <= maxLength
    ? text
    : `${text.slice(0, maxLength)}\n[… ${text.length - maxLength} characters are not shown]`;
}
