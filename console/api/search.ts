import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import * as z from "zod/mini";
import { request } from "./client.ts";
import { Hit } from "./shapes.ts";

/** Milliseconds without a key after which one counts as having typed. */
const pause = 300;

/** The text of a search field, debounced: a search reads many messages. */
export function useSettledWords(words: string): string {
  const [settled, setSettled] = useState(words);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(words), words === "" ? 0 : pause);
    return () => clearTimeout(timer);
  }, [words]);
  // An empty field searches for nothing, at once.
  return words === "" ? words : settled;
}

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
