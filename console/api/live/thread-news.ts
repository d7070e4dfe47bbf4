import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import * as z from "zod/mini";
import { approvalsOf } from "../approvals.ts";
import { request } from "../client.ts";
import { onChange } from "./feed.ts";
import { Run } from "../shapes.ts";
import { queryClient } from "../threads.ts";

/** Milliseconds after which a change is read once more: its news may be there before what it tells of can be read. */
const settled = 1_000;

/** Reads again what is known of a thread's runs, questions and state whenever one of its runs changes. */
export function useThreadNews(threadId: string | undefined): void {
  useEffect(() => {
    if (threadId === undefined) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = (): void => {
      for (const name of ["thread-runs", "thread-questions", "state", "run"]) {
        void queryClient.invalidateQueries({ queryKey: [name, threadId] });
      }
    };
    const end = onChange(({ type, id, thread_id }) => {
      const isOwn = thread_id === threadId || (type === "thread" && id === threadId);
      // With its first line the feed has begun: what was read before may be older than that.
      if (type !== "resync" && type !== "state" && !isOwn) return;
      read();
      clearTimeout(timer);
      timer = setTimeout(read, settled);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [threadId]);
}

/** The newest runs of a thread, the newest first. */
export function useThreadRuns(threadId: string | undefined) {
  return useQuery({
    queryKey: ["thread-runs", threadId],
    queryFn: ({ signal }) => request(`/threads/${threadId ?? ""}/runs?limit=20`, z.array(Run), { signal }),
    enabled: threadId !== undefined,
  });
}

/** What a thread asks a person now. */
export function useThreadQuestions(threadId: string | undefined) {
  return useQuery({
    queryKey: ["thread-questions", threadId],
    queryFn: ({ signal }) => approvalsOf(threadId ?? "", signal),
    enabled: threadId !== undefined,
  });
}
