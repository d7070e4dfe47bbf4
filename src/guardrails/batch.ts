import type { Tool } from "../tools/runtime/tool.ts";
import { batchLimit } from "./rules/needs-approval.ts";
import type { Turn } from "./turn.ts";

/** Requests for work on many files. */
const manyWords =
  /\b(?:mov(?:e|ing)|renam(?:e|ing)|delet(?:e|ing)|remov(?:e|ing)|eras(?:e|ing)|sort(?:ing)?|organi[sz](?:e|ing)|tidy(?:ing)?|clean(?:ing)?|group(?:ing)?|archiv(?:e|ing)|restructur(?:e|ing)|rearrang(?:e|ing))\b|移动|移到|挪到|重命名|改名|删除|删掉|移除|整理|归类|分类|归档|清理/iu;

/** Whether the user asks to move, rename, delete or sort files. */
export function asksForMany(request: string): boolean {
  return manyWords.test(request);
}

/**
 * Number of moves, renames and deletions in the turn including this reply, if this call exceeds the limit without
 * approval; else `null`. After a batch executed in earlier replies the count restarts.
 */
export function batchCount({ rounds }: Turn, callId: string, tools: readonly Tool[]): number | null {
  const isPart = ({ tool }: { tool: string }): boolean => isBatchTool(tools.find(({ name }) => name === tool));
  const now = rounds.at(-1)?.calls.filter(isPart) ?? [];
  const at = now.findIndex(({ id }) => id === callId);
  if (at === -1) return null;
  const done = rounds
    .slice(0, -1)
    .flatMap(({ calls }) => calls)
    .filter((call) => isPart(call) && call.outcome === "success").length;
  const free = batchLimit * (1 + Math.floor(Math.max(0, done - 1) / batchLimit));
  return done + at + 1 > free ? done + now.length : null;
}

function isBatchTool(tool: Tool | undefined): boolean {
  return tool?.kinds?.includes("DeleteFile") === true || tool?.moves === true;
}
