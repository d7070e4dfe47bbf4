import { useInfiniteQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request } from "./client.ts";

const Part = z.object({ content: z.string(), next_offset: z.nullable(z.number()) });

/** All of a result of a tool, in parts. */
export function useWholeResult(threadId: string, resultId: string) {
  return useInfiniteQuery({
    queryKey: ["result", threadId, resultId],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      request(`/threads/${threadId}/results/${encodeURIComponent(resultId)}?offset=${pageParam}`, Part, { signal }),
    getNextPageParam: ({ next_offset }) => next_offset,
    staleTime: Infinity,
    gcTime: 0,
  });
}
