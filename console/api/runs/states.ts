import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request } from "../client.ts";

const StateTask = z.looseObject({
  id: z.string(),
  name: z.string(),
  interrupts: z._default(z.array(z.looseObject({})), []),
});
const Snapshot = z.object({
  /** Left out where only places are asked for. */
  values: z.optional(z.unknown()),
  next: z.array(z.string()),
  tasks: z._default(z.array(StateTask), []),
  checkpoint: z.looseObject({ checkpoint_id: z.nullish(z.string()) }),
  parent_checkpoint: z.nullish(z.looseObject({ checkpoint_id: z.nullish(z.string()) })),
  metadata: z.nullish(
    z.looseObject({ source: z.nullish(z.string()), step: z.nullish(z.number()), run_id: z.nullish(z.string()) }),
  ),
  created_at: z.nullish(z.string()),
});
/** The state of a thread at a checkpoint. */
export type Snapshot = z.infer<typeof Snapshot>;

/** The newest state of a thread. */
export function useThreadState(threadId: string | undefined) {
  return useQuery({
    queryKey: ["state", threadId ?? "", "newest"],
    queryFn: ({ signal }) => request(`/threads/${threadId ?? ""}/state`, Snapshot, { signal }),
    enabled: threadId !== undefined,
  });
}

/** States of a page. */
const pageSize = 100;

/** The states that a run has left, in pages, the newest first. */
export function useStatesOf(threadId: string, runId: string) {
  return useInfiniteQuery({
    queryKey: ["state", threadId, "of", runId],
    initialPageParam: "",
    queryFn: ({ pageParam: before, signal }) => {
      const body = { limit: pageSize, metadata: { run_id: runId }, ...(before !== "" && { before }) };
      return request(`/threads/${threadId}/history`, z.array(Snapshot), { method: "POST", body, signal });
    },
    getNextPageParam: (page) => (page.length < pageSize ? undefined : page.at(-1)?.checkpoint.checkpoint_id),
  });
}

/** Places of a page: without the values there may be many. */
const manyPlaces = 1_000;

/** All states of a thread without their values, in pages, the newest first. */
export function usePlaces(threadId: string) {
  return useInfiniteQuery({
    queryKey: ["state", threadId, "places"],
    initialPageParam: "",
    queryFn: ({ pageParam: before, signal }) => {
      const select = ["checkpoint", "parent_checkpoint", "metadata", "created_at", "next"];
      const body = { limit: manyPlaces, select, ...(before !== "" && { before }) };
      return request(`/threads/${threadId}/history`, z.array(Snapshot), { method: "POST", body, signal });
    },
    getNextPageParam: (page) => (page.length < manyPlaces ? undefined : page.at(-1)?.checkpoint.checkpoint_id),
  });
}

/** The state at a checkpoint; of none as long as none is named. */
export function useStateAt(threadId: string, checkpointId: string | undefined) {
  return useQuery({
    queryKey: ["state", threadId, "at", checkpointId],
    queryFn: ({ signal }) => request(`/threads/${threadId}/state/${checkpointId ?? ""}`, Snapshot, { signal }),
    enabled: checkpointId !== undefined,
    staleTime: Infinity,
  });
}

const Places = z.array(z.pick(Snapshot, { checkpoint: true, parent_checkpoint: true }));

/** Reads the checkpoint that a run began from; `undefined` for the first of a thread, or where it is not kept. */
export async function readBeginning(
  threadId: string,
  runId: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const wanted = { limit: manyPlaces, metadata: { run_id: runId }, select: ["checkpoint", "parent_checkpoint"] };
  let first: z.infer<typeof Places>[number] | undefined;
  for (;;) {
    const before = first?.checkpoint.checkpoint_id;
    const body = { ...wanted, ...(before && { before }) };
    const page = await request(`/threads/${threadId}/history`, Places, { method: "POST", body, signal });
    first = page.at(-1) ?? first;
    if (page.length < manyPlaces) return first?.parent_checkpoint?.checkpoint_id ?? undefined;
  }
}

/** The checkpoint that a run began from, for a component; `null` where there is none. */
export function useBeginning(threadId: string, runId: string) {
  return useQuery({
    queryKey: ["state", threadId, "beginning", runId],
    queryFn: async ({ signal }) => (await readBeginning(threadId, runId, signal)) ?? null,
  });
}

const Written = z.object({ checkpoint: z.looseObject({ checkpoint_id: z.string() }) });

/** Writes values onto a checkpoint as if a node had; gives the new checkpoint. */
export async function writeState(
  threadId: string,
  checkpointId: string,
  values: unknown,
  asNode: string | undefined,
): Promise<string> {
  const body = { values, checkpoint_id: checkpointId, ...(asNode !== undefined && { as_node: asNode }) };
  const { checkpoint } = await request(`/threads/${threadId}/state`, Written, { method: "POST", body });
  return checkpoint.checkpoint_id;
}
