import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { ApiError, request } from "./client.ts";
import { OperationDiff } from "./shapes.ts";

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

const Conflict = z.object({
  operation_id: z.string(),
  path: z.string(),
  message: z.string(),
  later: z.array(z.string()),
});
/** Why an operation cannot be taken back; `later`: those that have built on it and would have to go with it. */
export type Conflict = z.infer<typeof Conflict>;
const Undone = z.object({ operations: z.array(z.object({ operation_id: z.string() })), conflicts: z.array(Conflict) });

/** Takes operations back, all of them or none: then the conflicts say why. */
export async function undoTogether(
  threadId: string,
  ids: readonly string[],
): Promise<{ done: number; conflicts: readonly Conflict[] }> {
  const path = `/threads/${threadId}/operations/undo`;
  try {
    const { operations } = await request(path, Undone, { method: "POST", body: { operation_ids: ids } });
    return { done: operations.length, conflicts: [] };
  } catch (error) {
    const told = error instanceof ApiError && error.status === 409 ? z.safeParse(Undone, error.body).data : undefined;
    if (told === undefined) throw error;
    return { done: 0, conflicts: told.conflicts };
  }
}
