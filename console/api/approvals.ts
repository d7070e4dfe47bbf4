import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request } from "./client.ts";
import { Approval } from "./shapes.ts";

/** What waits for a person in all threads, the oldest first. */
export function useApprovals() {
  return useQuery({
    queryKey: ["approvals"],
    queryFn: ({ signal }) => request("/approvals?limit=1000", z.array(Approval), { signal }),
  });
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

/** Answers a question; `repeated`: it was answered before. The hash says what was shown. */
export function answerApproval(
  { thread_id, id, hash }: Approval,
  decision: Decision,
): Promise<z.infer<typeof Answered>> {
  const body = { ...decision, ...(hash !== null && { hash }) };
  const path = `/threads/${thread_id}/approvals/${encodeURIComponent(id)}`;
  return request(path, Answered, { method: "POST", body });
}

const Grant = z.object({ grant_id: z.string(), tool: z.string(), path_pattern: z.string(), created_at: z.string() });

/** The yeses that a thread remembers. */
export function useGrants(threadId: string) {
  return useQuery({
    queryKey: ["grants", threadId],
    queryFn: ({ signal }) => request(`/threads/${threadId}/grants`, z.array(Grant), { signal }),
    staleTime: 0,
  });
}

/** Forgets a yes: the next call of its kind is asked about again. */
export function revokeGrant(threadId: string, grantId: string): Promise<void> {
  return perform(`/threads/${threadId}/grants/${encodeURIComponent(grantId)}`, { method: "DELETE" });
}
