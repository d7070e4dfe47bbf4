import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { ApiError, request } from "./client.ts";
import { Approval, ThreadPage } from "./shapes.ts";
import { refreshThreads } from "./threads.ts";

/** Threads whose questions are asked for one by one, where the server has no list over all of them. */
const mostThreads = 20;
const Approvals = z.union([
  z.array(Approval),
  z.pipe(
    z.object({ approvals: z.array(Approval) }),
    z.transform(({ approvals }) => approvals),
  ),
]);

/** What waits for a person in all threads, the oldest first. */
export function useApprovals() {
  return useQuery({
    queryKey: ["approvals"],
    queryFn: async ({ signal }) => {
      const found = await waitingEverywhere(signal);
      return found.toSorted((one, other) => one.asked_at.localeCompare(other.asked_at));
    },
  });
}

async function waitingEverywhere(signal: AbortSignal): Promise<Approval[]> {
  try {
    return await request("/approvals?status=waiting&limit=1000", Approvals, { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
  const body = { status: "interrupted", limit: mostThreads };
  const { threads } = await request("/threads/info/search", ThreadPage, { method: "POST", body, signal });
  const lists = await Promise.all(
    threads.map(async ({ thread_id, name }) => {
      const waiting = await approvalsOf(thread_id, signal);
      return waiting.map((approval) => ({ ...approval, thread_title: name }));
    }),
  );
  return lists.flat();
}

/** What waits for a person in a thread, its agents in the background included. */
export function approvalsOf(threadId: string, signal?: AbortSignal): Promise<Approval[]> {
  return request(`/threads/${threadId}/approvals`, z.array(Approval), { signal });
}

/** What a person says to a question. */
export type Decision =
  | { type: "approve"; remember?: { tool: string; path_pattern: string } }
  | { type: "edit"; args: Record<string, unknown> }
  | { type: "reject"; message?: string }
  | { type: "answer"; value?: unknown; text?: string }
  | { type: "respond"; text: string };

const Answered = z.object({ repeated: z.boolean(), run_id: z.nullish(z.string()) });

/** Answers a question; `repeated`: somebody had answered before. The hash says what was shown. */
export async function answerApproval(
  { thread_id, id, hash }: Approval,
  decision: Decision,
): Promise<z.infer<typeof Answered>> {
  const body = { ...decision, ...(hash !== null && { hash }) };
  const path = `/threads/${thread_id}/approvals/${encodeURIComponent(id)}`;
  const answered = await request(path, Answered, { method: "POST", body });
  void refreshThreads(thread_id);
  return answered;
}
