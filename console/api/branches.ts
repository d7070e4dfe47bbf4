import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { ApiError, perform, request } from "./client.ts";
import { queryClient } from "./threads.ts";

const Branch = z.object({ checkpoint_id: z.string(), message_id: z.string(), first_words: z.optional(z.string()) });
export type Branch = z.infer<typeof Branch>;

/** Whether the server knows branches; a server that does not is asked once. */
let isKnown = true;

async function readBranches(threadId: string, choice: string, signal: AbortSignal): Promise<Branch[]> {
  if (!isKnown) return [];
  try {
    return await request(`/threads/${threadId}/branches?${choice}`, z.array(Branch), { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    isKnown = false;
    return [];
  }
}

/** Whether a thread has gone more than one way: only then a message of it has versions. */
export function useIsBranched(threadId: string): boolean {
  const { data = [] } = useQuery({
    queryKey: ["branches", threadId],
    queryFn: ({ signal }) => readBranches(threadId, "limit=2", signal),
    staleTime: 30_000,
  });
  return data.length > 1;
}

/** The versions of a message, the oldest first. */
export function useMessageVersions(threadId: string, messageId: string) {
  return useQuery({
    queryKey: ["branches", threadId, messageId],
    queryFn: ({ signal }) => readBranches(threadId, `message=${encodeURIComponent(messageId)}`, signal),
    staleTime: 30_000,
  });
}

/** Makes a version the one that the thread goes on from. */
export async function chooseBranch(threadId: string, checkpointId: string): Promise<void> {
  await perform(`/threads/${threadId}/head`, { method: "PUT", body: { checkpoint_id: checkpointId } });
  await queryClient.invalidateQueries({ queryKey: ["branches", threadId] });
}
