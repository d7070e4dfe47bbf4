import type { Turn } from "../../guardrails/turn.ts";

/**
 * Why the task cannot be declared complete, or `null`. `callId` is the declaring call, part of the last reply;
 * `completing` are the tools that declare it. Refusals by a person or a rule are not failures.
 */
export function completionProblem(turn: Turn, callId: string, completing: ReadonlySet<string>): string | null {
  const open = turn.rounds.at(-1)?.calls.filter(({ id }) => id !== callId) ?? [];
  if (open.length > 0) {
    const names = open.map(({ tool }) => tool).join(", ");
    return `Not accepted: the results of other calls of this reply (${names}) have not come yet. Look at them, then call it alone.`;
  }
  const before = turn.rounds.slice(0, -1).findLast(({ calls }) => calls.some(({ tool }) => !completing.has(tool)));
  const failed = before?.calls.filter(({ outcome }) => outcome === "failed") ?? [];
  if (failed.length === 0) return null;
  const names = failed.map(({ tool, path }) => (path === null ? tool : `${tool} (${path})`)).join(", ");
  return (
    `Not accepted: the latest calls failed: ${names}. Follow that up first: repair it, try another way, or look at the ` +
    "present state. If it cannot be done, say so in a plain answer instead."
  );
}
