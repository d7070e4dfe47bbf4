import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import type { Span } from "../../run/spans.ts";
import { request } from "../client.ts";

const ModelCall = z.object({ number: z.number(), node: z.string(), is_silent: z.boolean(), asked_at: z.string() });
/** A request to a model that is kept of a run. */
export type ModelCall = z.infer<typeof ModelCall>;

/** The requests that were sent while a model call was under way; of calls side by side it is not known whose is whose. */
export function useRequests(threadId: string, runId: string, { start, first_token, end }: Span) {
  const until = first_token ?? end ?? Number.POSITIVE_INFINITY;
  return useQuery({
    queryKey: ["requests", threadId, runId],
    queryFn: ({ signal }) => request(`/threads/${threadId}/runs/${runId}/requests`, z.array(ModelCall), { signal }),
    select: (calls) =>
      calls.filter(({ is_silent, asked_at }) => {
        const at = Date.parse(asked_at);
        return !is_silent && at >= (start ?? 0) && at <= until;
      }),
  });
}

const Details = z.object({ request: z.unknown() });

/** What a model was sent. */
export function useRequest(threadId: string, runId: string, number: number) {
  return useQuery({
    queryKey: ["requests", threadId, runId, number],
    queryFn: ({ signal }) => request(`/threads/${threadId}/runs/${runId}/requests/${number}`, Details, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
