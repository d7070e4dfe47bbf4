import { useQuery } from "@tanstack/react-query";
import { request } from "./client.ts";
import { Operation, OperationDiff } from "./shapes.ts";

/** The lines that an operation changed. */
export function useDiff(threadId: string, operationId: string, limit: number, enabled = true) {
  return useQuery({
    queryKey: ["diff", threadId, operationId, limit],
    queryFn: ({ signal }) =>
      request(`/threads/${threadId}/operations/${operationId}/diff?limit=${limit}`, OperationDiff, { signal }),
    enabled,
    staleTime: 60_000,
  });
}

/** Puts back what an operation replaced. */
export function undoOperation(threadId: string, operationId: string): Promise<Operation> {
  return request(`/threads/${threadId}/operations/${operationId}/undo`, Operation, { method: "POST" });
}

/** How far an undo of several went; `problem`: why the next one could not be. */
export interface UndoResult {
  done: number;
  problem: unknown;
}

/** Takes operations back, the newest first, up to the first that cannot be: what it built upon has to stay. */
export async function undoAll(threadId: string, operations: readonly Operation[]): Promise<UndoResult> {
  const newestFirst = operations.toSorted((one, other) => other.created_at.localeCompare(one.created_at));
  let done = 0;
  for (const { operation_id } of newestFirst) {
    try {
      await undoOperation(threadId, operation_id);
      done += 1;
    } catch (problem) {
      return { done, problem };
    }
  }
  return { done, problem: undefined };
}
