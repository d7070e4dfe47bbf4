import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request } from "./client.ts";
import type { Compression } from "./runs/runs.ts";

/** A part of what a model was sent, with its estimated tokens; one with parts of its own has no content. */
export interface Section {
  name: string;
  token_count: number;
  content: string | null;
  children: Section[];
}
const Section: z.ZodMiniType<Section> = z.object({
  name: z.string(),
  token_count: z.number(),
  content: z.nullable(z.string()),
  children: z.lazy(() => z.array(Section)),
});

const Context = z.object({
  last_call: z.nullable(
    z.object({ run_id: z.string(), call: z.string(), model: z.string(), asked_at: z.string(), is_exact: z.boolean() }),
  ),
  usage: z.object({ tokens: z.number(), limit: z.number() }),
  budget: z.object({
    remaining: z.number(),
    allocations: z.array(z.object({ category: z.string(), tokens: z.number() })),
  }),
  sections: z.array(Section),
});
/** What fills the window of a thread's model, by section, as its last call was sent. */
export type ThreadContext = z.infer<typeof Context>;

/** What the model of a thread was last sent; read again with the thread's news. */
export function useThreadContext(threadId: string) {
  return useQuery({
    queryKey: ["state", threadId, "context"],
    queryFn: ({ signal }) => request(`/threads/${threadId}/context`, Context, { signal }),
    refetchOnMount: "always",
  });
}

const Call = z.object({ number: z.number(), node: z.string(), asked_at: z.string(), is_silent: z.boolean() });

/** The requests to models that are kept of a run, the newest first. */
export function useCallsOf(threadId: string, runId: string) {
  return useQuery({
    queryKey: ["state", threadId, "calls", runId],
    queryFn: ({ signal }) => request(`/threads/${threadId}/runs/${runId}/requests`, z.array(Call), { signal }),
  });
}

const Messages = z.array(z.record(z.string(), z.unknown()));
const Sent = z.object({
  request: z.unknown(),
  difference: z.nullable(
    z.object({
      same_messages: z.number(),
      messages: Messages,
      former_messages: Messages,
      tools_changed: z.boolean(),
      other_changes: z.array(z.string()),
    }),
  ),
});
/** What differs between a request and the one that its node made before it. */
export type RequestDifference = NonNullable<z.infer<typeof Sent>["difference"]>;

/** A request as it was sent, with what differs from the one before it. */
export function useSentRequest(threadId: string, runId: string, number: number) {
  return useQuery({
    queryKey: ["sent", threadId, runId, number],
    queryFn: ({ signal }) => request(`/threads/${threadId}/runs/${runId}/requests/${number}`, Sent, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const Message = z.object({ id: z.nullable(z.string()), role: z.string(), preview: z.string(), tokens: z.number() });
/** A message that a summary would stand for. */
export type CompressionMessage = z.infer<typeof Message>;
const Preview = z.object({
  usage: z.object({ tokens: z.number() }),
  predicted: z.object({ tokens: z.number() }),
  summary: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  compressible: z.array(Message),
});

/** What a compression would do; nothing is changed. */
export function useCompressionPreview(threadId: string, how: Compression) {
  return useQuery({
    queryKey: ["state", threadId, "compression", how],
    queryFn: ({ signal }) =>
      request(`/threads/${threadId}/compress/preview`, Preview, { method: "POST", body: how, signal }),
    placeholderData: (before) => before,
    retry: false,
  });
}
