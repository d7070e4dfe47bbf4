import { useSyncExternalStore } from "react";
import * as z from "zod/mini";
import type { InfiniteData } from "@tanstack/react-query";
import { ThreadStatus, type ThreadDetails, type ThreadInfo, type ThreadPage } from "../shapes.ts";
import { followFeed, type ConnectionState } from "./events.ts";
import { queryClient } from "../threads.ts";

const FeedEvent = z.object({
  seq: z.number(),
  type: z.string(),
  id: z.optional(z.string()),
  thread_id: z.nullish(z.string()),
  what: z.optional(z.string()),
  patch: z.optional(z.unknown()),
});
/** A change of something in any thread; `state` and `resync` stand for all of them. */
export type FeedEvent = z.infer<typeof FeedEvent>;

const ThreadPatch = z.object({
  status: z.optional(ThreadStatus),
  metadata: z.optional(z.object({ name: z.optional(z.unknown()), title: z.optional(z.unknown()) })),
});

/** Milliseconds between two readings of the same list, however often it changes; tabs differ for no longer. */
const quiet = 150;

let connection: ConnectionState = "connecting";
const stateListeners = new Set<() => void>();

/** How the connection to the server is. */
export function useConnection(): ConnectionState {
  return useSyncExternalStore(
    (listener) => {
      stateListeners.add(listener);
      return () => stateListeners.delete(listener);
    },
    () => connection,
  );
}

const listeners = new Set<(event: FeedEvent) => void>();

/** Calls `listener` with each change; the result ends that. */
export function onChange(listener: (event: FeedEvent) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What is read anew after a change of this type: the first part of the keys of its queries. */
const readAfter: Record<string, readonly string[]> = {
  thread: ["threads", "background-agents"],
  agent: ["threads"],
  run: ["branches", "background-agents", "thread-usage"],
  approval: ["approvals", "threads"],
  operation: ["diff"],
  task: ["tasks"],
};

/** Keeps what was read from the server as the server has it now. The result ends it. */
export function startFeed(): () => void {
  let newest: number | undefined;
  const invalidate = batched((names) => {
    for (const name of names) void queryClient.invalidateQueries({ queryKey: [name] });
  });
  const end = followFeed(() => newest, {
    onState: (state) => {
      connection = state;
      for (const listener of stateListeners) listener();
    },
    onEvent: (value) => {
      const event = z.safeParse(FeedEvent, value).data;
      if (event === undefined) return;
      // After its first connection the reader has missed nothing unless the server says so.
      if (event.type === "resync") void queryClient.invalidateQueries();
      else {
        // Of one thread there are few changes, and they are seen in its head.
        if (event.type === "thread") {
          showPatch(event);
          void queryClient.invalidateQueries({ queryKey: ["thread", event.id] });
        }
        invalidate(readAfter[event.type] ?? []);
      }
      newest = event.seq;
      for (const listener of listeners) listener(event);
    },
  });
  return () => {
    end();
    invalidate.stop();
  };
}

/** Shows what a change says of a thread at once, so that all tabs show it at the same time; then it is read. */
function showPatch({ id, patch }: FeedEvent): void {
  const { status, metadata } = z.safeParse(ThreadPatch, patch).data ?? {};
  const name = [metadata?.name, metadata?.title]
    .filter((text) => typeof text === "string")
    .find((text) => text.trim() !== "");
  const known = { ...(status !== undefined && { status }), ...(name !== undefined && { name: name.trim() }) };
  const changed = <Shown extends ThreadInfo>(thread: Shown): Shown =>
    thread.thread_id === id ? { ...thread, ...known } : thread;
  queryClient.setQueryData<ThreadDetails>(["thread", id], (thread) => thread && changed(thread));
  queryClient.setQueriesData<InfiniteData<z.infer<typeof ThreadPage>>>(
    { queryKey: ["threads"] },
    (list) => list && { ...list, pages: list.pages.map((page) => ({ ...page, threads: page.threads.map(changed) })) },
  );
}

/** Collects names and hands them on: at once after a quiet time, else when the quiet time is over. */
function batched(work: (names: ReadonlySet<string>) => void): ((names: readonly string[]) => void) & { stop(): void } {
  let waiting = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    timer = undefined;
    if (waiting.size === 0) return;
    const names = waiting;
    waiting = new Set();
    timer = setTimeout(flush, quiet);
    work(names);
  };
  const take = (names: readonly string[]): void => {
    for (const name of names) waiting.add(name);
    if (timer === undefined) flush();
  };
  return Object.assign(take, { stop: () => clearTimeout(timer) });
}
