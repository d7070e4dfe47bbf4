import { useInfiniteQuery, useQuery, type InfiniteData } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import * as z from "zod/mini";
import { runStatuses, type Bucket, type RunFilter } from "../../run/run-filter.ts";
import { perform, request, send } from "../client.ts";
import { onChange } from "../live/feed.ts";
import { Run } from "../shapes.ts";
import { queryClient } from "../threads.ts";
import { readBeginning } from "./states.ts";

const RunSummary = z.object({
  run_id: z.string(),
  thread_id: z.string(),
  assistant_id: z.string(),
  graph_id: z.string(),
  status: z.enum(runStatuses),
  queued_at: z.string(),
  started_at: z.nullable(z.string()),
  ended_at: z.nullable(z.string()),
  attempts: z.number(),
  error_code: z.nullable(z.string()),
  usage: z.nullable(z.object({ input_tokens: z.number(), output_tokens: z.number(), cost: z.number() })),
  started_by: z.object({ kind: z.enum(["client", "cron", "agent"]), id: z.nullable(z.string()) }),
  cancel_reason: z.optional(z.string()),
});
/** A run as the list of all runs has it. */
export type RunSummary = z.infer<typeof RunSummary>;

const Count = z.object({ at: z.string(), status: z.enum(runStatuses), count: z.number() });

interface RunPage {
  runs: RunSummary[];
  next: string | null;
}

const pageSize = 50;

function queryOf(filter: RunFilter, more: Record<string, string> = {}): string {
  const given = Object.entries({ ...filter, ...more }).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given).toString();
}

async function readPage(filter: RunFilter, cursor: string | null, signal: AbortSignal): Promise<RunPage> {
  const more = { limit: String(pageSize), ...(cursor !== null && { cursor }) };
  const response = await send(`/runs?${queryOf(filter, more)}`, { signal });
  const runs = z.parse(z.array(RunSummary), await response.json());
  return { runs, next: response.headers.get("X-Pagination-Next") };
}

/** The runs of all threads, the newest first; what changes on the server changes here. */
export function useAllRuns(filter: RunFilter) {
  const query = useInfiniteQuery({
    queryKey: ["all-runs", filter],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) => readPage(filter, pageParam, signal),
    getNextPageParam: (page) => page.next,
    placeholderData: (before) => before,
  });
  useLiveRuns(filter);
  return query;
}

/** Milliseconds between two readings of what has changed. */
const quiet = 500;

/** Reads the runs again that have changed: the newest page, and for older ones those of their threads. */
function useLiveRuns(filter: RunFilter): void {
  const newest = useRef(filter);
  useEffect(() => {
    newest.current = filter;
  });
  useEffect(() => {
    const closing = new AbortController();
    let threads = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async (): Promise<void> => {
      const changed = threads;
      threads = new Set();
      const isDone = await refresh(newest.current, changed, closing.signal).catch(() => true);
      timer = undefined;
      if (!isDone) for (const thread of changed) threads.add(thread);
      if (!isDone || threads.size > 0) later();
    };
    const later = (): void => {
      timer ??= setTimeout(() => void read(), quiet);
    };
    const end = onChange((event) => {
      // With its first line the feed has begun: what was read before may be older than that.
      if ((event.type !== "run" && event.type !== "state") || closing.signal.aborted) return;
      if (event.thread_id) threads.add(event.thread_id);
      later();
    });
    return () => {
      end();
      closing.abort();
      clearTimeout(timer);
    };
  }, []);
}

/** False: pages were read meanwhile, or are being read, that these do not fit to; then it is to be done again. */
async function refresh(filter: RunFilter, threads: ReadonlySet<string>, signal: AbortSignal): Promise<boolean> {
  const key = ["all-runs", filter];
  const known = queryClient.getQueryData<InfiniteData<RunPage, string | null>>(key);
  if (known === undefined) return true;
  const first = await readPage(filter, null, signal);
  const oldest = first.next === null ? undefined : first.runs.at(-1)?.run_id;
  const isNewer = ({ run_id }: RunSummary) => oldest === undefined || run_id >= oldest;
  const before = known.pages.flatMap((page) => page.runs).filter((run) => !isNewer(run));
  const stale = new Set(before.filter((run) => threads.has(run.thread_id)).map((run) => run.thread_id));
  const again = await Promise.all(
    [...stale].map(async (thread_id) => (await readPage({ ...filter, thread_id }, null, signal)).runs),
  );
  const changed = new Map(again.flat().map((run) => [run.run_id, run]));
  const rest = before.flatMap((run) => (stale.has(run.thread_id) ? (changed.get(run.run_id) ?? []) : run));
  if (queryClient.getQueryData(key) !== known || queryClient.isFetching({ queryKey: key }) > 0) return false;
  const older = known.pages.length > 1 ? [{ runs: rest, next: known.pages.at(-1)?.next ?? null }] : [];
  queryClient.setQueryData<InfiniteData<RunPage, string | null>>(key, {
    pages: [first, ...older],
    pageParams: [null, ...older.map(() => first.next)],
  });
  void queryClient.invalidateQueries({ queryKey: ["run-histogram"] });
  return true;
}

/** How many runs began when. */
export function useRunHistogram(filter: RunFilter, bucket: Bucket) {
  return useQuery({
    queryKey: ["run-histogram", filter, bucket],
    queryFn: ({ signal }) => request(`/runs/histogram?${queryOf(filter, { bucket })}`, z.array(Count), { signal }),
    placeholderData: (before) => before,
  });
}

const StartedRun = z.extend(Run, {
  assistant_id: z.string(),
  kwargs: z.looseObject({
    input: z.optional(z.unknown()),
    command: z.optional(z.unknown()),
    context: z.optional(z.unknown()),
    config: z.optional(z.unknown()),
  }),
  cancel_reason: z.optional(z.string()),
  updated_at: z.string(),
});
/** A run as its thread has it, with what it was started with. */
export type StartedRun = z.infer<typeof StartedRun>;

/** A run as the list of all runs has it: its attempts, who started it, what it used. */
export function useRunSummary({ thread_id, run_id }: Pick<RunSummary, "thread_id" | "run_id">) {
  return useQuery({
    queryKey: ["run", thread_id, run_id, "summary"],
    queryFn: async ({ signal }) => {
      const [summary] = await request(`/runs?run_id=${run_id}`, z.array(RunSummary), { signal });
      return summary ?? null;
    },
  });
}

/** A run with what it was started with. */
export function useStartedRun(threadId: string, runId: string) {
  return useQuery({
    queryKey: ["run", threadId, runId],
    queryFn: ({ signal }) => runOf(threadId, runId, signal),
  });
}

/** Reads a run with what it was started with. */
function runOf(threadId: string, runId: string, signal?: AbortSignal): Promise<StartedRun> {
  return request(`/threads/${threadId}/runs/${runId}`, StartedRun, { signal });
}

/**
 * Starts a run with the same input again, in the same thread; returns the new run's id. A run without input, such as one
 * that answered a question, starts again from its own first checkpoint: the thread's newest one may ask something else, or
 * nothing.
 */
export async function runAgain(run: Pick<RunSummary, "thread_id" | "run_id">): Promise<string> {
  const { assistant_id, kwargs } = await runOf(run.thread_id, run.run_id);
  const { input, command, context } = kwargs;
  const isContinuation = input === undefined || input === null;
  const checkpoint_id = isContinuation ? await readBeginning(run.thread_id, run.run_id) : undefined;
  const begun = checkpoint_id === undefined ? { input, command } : { input: null, checkpoint_id };
  const body = { assistant_id, ...begun, context, multitask_strategy: "enqueue" };
  const started = await request(`/threads/${run.thread_id}/runs`, Run, { method: "POST", body });
  return started.run_id;
}

/** Stops a run. */
export function stopRun(run: Pick<RunSummary, "thread_id" | "run_id">): Promise<void> {
  return perform(`/threads/${run.thread_id}/runs/${run.run_id}/cancel`, { method: "POST" });
}
