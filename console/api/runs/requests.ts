import { keepPreviousData, useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request } from "../client.ts";

const ModelCall = z.object({ number: z.number(), model_call_id: z.nullable(z.string()) });

/** The numbers of a model call's requests, oldest first: an answer that is continued takes several. */
export function useRequestsOf(threadId: string, runId: string, call: { id: string; status: string }) {
  return useQuery({
    // More may come until it is over.
    queryKey: ["requests", threadId, runId, call],
    queryFn: ({ signal }) => request(`/threads/${threadId}/runs/${runId}/requests`, z.array(ModelCall), { signal }),
    placeholderData: keepPreviousData,
    select: (calls) =>
      calls.flatMap(({ number, model_call_id }) => (model_call_id === call.id ? [number] : [])).toReversed(),
  });
}

const Details = z.object({ request: z.unknown() });

/** What a model was sent. */
export function useRequest(threadId: string, runId: string, number: number, enabled = true) {
  return useQuery({
    enabled,
    queryKey: ["requests", threadId, runId, number],
    queryFn: ({ signal }) => request(`/threads/${threadId}/runs/${runId}/requests/${number}`, Details, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
