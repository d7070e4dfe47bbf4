import type { Call, ThreadState } from "./items.ts";

/** What a call has made that is shown beside it. */
export type Made = { kind: "task"; id: string } | { kind: "simulation"; circuit: string; callId: string };

/** Tools of the planner that leave one task. */
const ofTasks = new Set(["create_task", "update_task", "create_schedule"]);

/** What a call that has gone well has made, as far as it says so. */
export function madeBy(thread: Pick<ThreadState, "items">, call: Call): Made | undefined {
  if (call.status !== "done") return undefined;
  if (ofTasks.has(call.name)) {
    const id = /; id (?<id>\S+)\)\s*$/u.exec(call.result ?? "")?.groups?.["id"];
    return id === undefined ? undefined : { kind: "task", id };
  }
  const circuit = call.name === "run_simulation" ? call.args?.["circuit"] : undefined;
  const callId = ledgerName(thread, call.id);
  return typeof circuit === "string" && callId !== undefined ? { kind: "simulation", circuit, callId } : undefined;
}

/** How the server's log names a call: by its message and its place among the calls of that. */
function ledgerName({ items }: Pick<ThreadState, "items">, callId: string): string | undefined {
  for (const item of items.values()) {
    if (item.kind !== "assistant" || item.parent !== undefined) continue;
    const calls = item.blocks.flatMap((block) => (block.kind === "call" ? [block.callId] : []));
    if (calls.includes(callId)) return `${item.id}/${calls.indexOf(callId)}`;
  }
  return undefined;
}
