import { useInfiniteQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request } from "./client.ts";
import { Hit } from "./shapes.ts";

const HitPage = z.object({ hits: z.array(Hit), total: z.number(), before: z.nullable(z.string()) });

/** Where a text stands in all messages of a thread: pages from the newest on, each with its oldest first. */
export function useHits(threadId: string, query: string) {
  return useInfiniteQuery({
    enabled: query !== "",
    queryKey: ["hits", threadId, query],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const wanted = new URLSearchParams({ query, limit: "1000", ...(pageParam !== "" && { before: pageParam }) });
      return request(`/threads/${threadId}/search?${wanted.toString()}`, HitPage, { signal });
    },
    getNextPageParam: ({ before }) => before,
  });
}
