import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request } from "./client.ts";
import type { Compression } from "./runs/runs.ts";
import { queryClient } from "./threads.ts";

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
  output_limit: z.number(),
  price: z.nullable(z.object({ input: z.number(), output: z.number(), currency: z.string() })),
  budget: z.object({
    remaining: z.number(),
    allocations: z.array(
      z.object({
        category: z.string(),
        tokens: z.number(),
        percent: z.number(),
        reference_percent: z.number(),
        is_refused: z.boolean(),
      }),
    ),
  }),
  sections: z.array(Section),
});
/** What fills the window of a thread's model, by section, as its last call was sent. */
export type ThreadContext = z.infer<typeof Context>;

/** Milliseconds that the server may take to say what a model was sent. */
const patience = 10_000;

/** What the model of a thread was last sent; read again with the thread's news. Fails with a `TimeoutError` after 10 s. */
export function useThreadContext(threadId: string) {
  return useQuery({
    queryKey: ["state", threadId, "context"],
    queryFn: async ({ signal }) => {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new DOMException("", "TimeoutError")), patience);
      try {
        const either = AbortSignal.any([signal, late.signal]);
        return await request(`/threads/${threadId}/context`, Context, { signal: either });
      } finally {
        clearTimeout(timer);
      }
    },
    refetchOnMount: "always",
  });
}

const ModelView = z.nullable(z.enum(["keep", "hide"]));
const Seen = z.object({
  id: z.nullable(z.string()),
  role: z.string(),
  preview: z.string(),
  tokens: z.number(),
  importance: z.enum(["HIGH", "MEDIUM", "LOW"]),
  model_view: ModelView,
  in_request: z.string(),
});
/** A message of a thread, with how the last request had it and what its user wants. */
export type SeenMessage = z.infer<typeof Seen>;
const SeenPage = z.object({ messages: z.array(Seen), total: z.number(), before: z.nullable(z.string()) });

/** The messages of a thread as its model sees them: pages from the end on. */
export function useSeenMessages(threadId: string) {
  return useInfiniteQuery({
    queryKey: ["state", threadId, "seen"],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const before = pageParam === "" ? "" : `?before=${encodeURIComponent(pageParam)}`;
      return request(`/threads/${threadId}/context/messages${before}`, SeenPage, { signal });
    },
    getNextPageParam: ({ before }) => before,
    refetchOnMount: "always",
  });
}

/** Keeps a message in the model's view, or hides it from the model; `null` leaves it to the rules. */
export async function markMessage(
  threadId: string,
  messageId: string,
  model_view: SeenMessage["model_view"],
): Promise<void> {
  await perform(`/threads/${threadId}/messages/${messageId}`, { method: "PATCH", body: { model_view } });
  await queryClient.invalidateQueries({ queryKey: ["state", threadId] });
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
  request: z.record(z.string(), z.unknown()),
  is_exact: z.boolean(),
  endpoint: z.nullable(z.object({ url: z.string(), messages_field: z.string() })),
  difference: z.nullable(
    z.object({
      same_messages: z.number(),
      messages: Messages,
      former_messages: Messages,
      bytes: z.number(),
      cache_break: z.nullable(z.object({ path: z.string(), byte: z.number() })),
      other_changes: z.array(z.string()),
    }),
  ),
});
/** A request as it was sent, and where to. */
export type SentRequest = z.infer<typeof Sent>;
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
  message_count: z.number(),
  usage: z.object({ tokens: z.number(), ratio: z.number() }),
  predicted: z.object({ tokens: z.number(), ratio: z.number(), summary_tokens: z.number() }),
  summary: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  compressible: z.array(Message),
  kept: z.array(Message),
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
