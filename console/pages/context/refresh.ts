import { useEffect, useRef } from "react";
import { queryClient } from "../../api/threads.ts";

/** Milliseconds in which several presses count as one. */
const pause = 300;

/** Reads anew what is shown of a thread's context; pressed several times, once. */
export function useRefresh(threadId: string): () => void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), [threadId]);
  return () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void queryClient.invalidateQueries({ queryKey: ["state", threadId] }), pause);
  };
}
