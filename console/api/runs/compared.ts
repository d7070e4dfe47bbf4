import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { saidIn, type Contents, type Place } from "../../run/compare.ts";
import { request } from "../client.ts";
import { readPayload } from "./trace.ts";

const Ends = z.array(z.object({ values: z.unknown() }));

/** The newest state that a run has left; `null` where none is kept. */
export function useEndOf(threadId: string, runId: string) {
  return useQuery({
    queryKey: ["state", threadId, "end of", runId],
    queryFn: async ({ signal }) => {
      const body = { limit: 1, metadata: { run_id: runId }, select: ["values"] };
      const [end] = await request(`/threads/${threadId}/history`, Ends, { method: "POST", body, signal });
      return end === undefined ? null : end.values;
    },
  });
}

/** Calls of a run of which is read what they were given and have said. */
export const maxRead = 40;

/** What the tool calls of a run were given and what its models said: of the first ones, once the run is over. */
export function useContents(
  threadId: string,
  runId: string,
  { places, isOver }: { places: readonly Place[]; isOver: boolean },
) {
  const calls = places.filter(({ span }) => span.kind === "tool" || span.kind === "model").slice(0, maxRead);
  return useQuery({
    queryKey: ["contents", threadId, runId, calls.map(({ span }) => span.id)],
    enabled: isOver && calls.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<Contents> => {
      const found = await Promise.all(
        calls.map(async ({ span }): Promise<[string, string][]> => {
          const side = span.kind === "tool" ? "input" : "output";
          if (!span.payloads[side]) return [];
          const read = await readPayload({ threadId, runId, spanId: span.id, side }, false, signal);
          return read === undefined ? [] : [[span.id, side === "output" ? saidIn(read.text) : read.text]];
        }),
      );
      return new Map(found.flat());
    },
  });
}
