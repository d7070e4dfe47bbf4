import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request } from "../client.ts";

const StateTask = z.looseObject({
  id: z.string(),
  name: z.string(),
  interrupts: z._default(z.array(z.looseObject({})), []),
});
const Snapshot = z.object({
  values: z.unknown(),
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

function readHistory(threadId: string, signal?: AbortSignal): Promise<Snapshot[]> {
  return request(`/threads/${threadId}/history?limit=200`, z.array(Snapshot), { signal });
}

/** The states of a thread, the newest first. */
export function useHistory(threadId: string) {
  return useQuery({
    queryKey: ["state", threadId, "history"],
    queryFn: ({ signal }) => readHistory(threadId, signal),
  });
}

/** The checkpoint that a run began from; `undefined` for the first of a thread, or where it is not kept. */
export function beginningOf(history: readonly Snapshot[], runId: string): string | undefined {
  const first = history.findLast(({ metadata }) => metadata?.run_id === runId);
  return first?.parent_checkpoint?.checkpoint_id ?? undefined;
}

/** Reads the checkpoint that a run began from. */
export async function readBeginning(threadId: string, runId: string): Promise<string | undefined> {
  return beginningOf(await readHistory(threadId), runId);
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
