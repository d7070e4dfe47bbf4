import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { ApiError, perform, request } from "./client.ts";
import { queryClient } from "./threads.ts";

const Branch = z.object({ checkpoint_id: z.string(), message_id: z.string(), first_words: z.optional(z.string()) });
export type Branch = z.infer<typeof Branch>;

/** Whether the server knows branches; a server that does not is asked once. */
let isKnown = true;

/** The versions of a message, the oldest first. */
export function useBranches(threadId: string, messageId: string) {
  return useQuery({
    queryKey: ["branches", threadId, messageId],
    queryFn: async ({ signal }): Promise<Branch[]> => {
      if (!isKnown) return [];
      try {
        return await request(
          `/threads/${threadId}/branches?message=${encodeURIComponent(messageId)}`,
          z.array(Branch),
          { signal },
        );
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        isKnown = false;
        return [];
      }
    },
    staleTime: 30_000,
  });
}

/** Makes a version the one that the thread goes on from. */
export async function chooseBranch(threadId: string, checkpointId: string): Promise<void> {
  await perform(`/threads/${threadId}/head`, { method: "PUT", body: { checkpoint_id: checkpointId } });
  await queryClient.invalidateQueries({ queryKey: ["branches", threadId] });
}
