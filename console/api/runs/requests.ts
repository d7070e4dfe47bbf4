import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import type { Span } from "../../run/spans.ts";
import { request } from "../client.ts";

const ModelCall = z.object({ number: z.number(), node: z.string(), is_silent: z.boolean(), asked_at: z.string() });

/** Milliseconds that the log tells of a beginning later than it was: it is stamped when it is written. */
const late = 1_000;

/** The request of a model call: the newest that was sent by its first words. Calls of agents are not kept. */
export function useRequestOf(threadId: string, runId: string, { start, first_token, end }: Span) {
  const from = (start ?? 0) - late;
  const until = first_token ?? end ?? Number.POSITIVE_INFINITY;
  return useQuery({
    queryKey: ["requests", threadId, runId],
    queryFn: ({ signal }) => request(`/threads/${threadId}/runs/${runId}/requests`, z.array(ModelCall), { signal }),
    // They come newest first.
    select: (calls) =>
      calls.find(({ is_silent, asked_at }) => {
        const at = Date.parse(asked_at);
        return !is_silent && at >= from && at <= until;
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
