import {
  QueryClient,
  queryOptions,
  useInfiniteQuery,
  useQuery,
  type InfiniteData,
  type InfiniteQueryObserverResult,
} from "@tanstack/react-query";
import * as z from "zod/mini";
import { ApiError, perform, request, send } from "./client.ts";
import { saveAs } from "./operations.ts";
import {
  Assistant,
  BackgroundAgent,
  Caller,
  ModelList,
  Thread,
  ThreadDetails,
  ThreadPage,
  type ThreadInfo,
} from "./shapes.ts";

/** What the server has said, by the route that said it. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Without an answer another try helps; an answer that refuses stays the same.
      retry: (count, error) => count < 2 && error instanceof ApiError && error.status === 0,
    },
  },
});

/** A query that is read in pages. */
export type PagedQuery<Page, Param> = InfiniteQueryObserverResult<InfiniteData<Page, Param>>;

/**
 * Reads the next page. TanStack Query gives it up when something has changed and the pages before it are read again; then it
 * is requested once more, so that a click is not lost.
 */
export async function readNextPage<Page, Param>(query: PagedQuery<Page, Param>): Promise<PagedQuery<Page, Param>> {
  const known = query.data?.pages.length ?? 0;
  const next = await query.fetchNextPage();
  const isGivenUp = !next.isError && next.hasNextPage && (next.data?.pages.length ?? 0) <= known;
  return isGivenUp ? await readNextPage(next) : next;
}

/** Who is signed in: asked once, before anything is drawn. */
export const callerQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => request("/me", Caller, { signal }),
  staleTime: Infinity,
  retryOnMount: false,
});

/** Who is signed in. A server without the route needs no sign-in. */
export function useCaller() {
  return useQuery(callerQuery);
}

/** A page of the list of threads. */
export function useThreads(
  search: { query?: string; status?: string; graph_id?: string; archived?: boolean; pinned?: boolean } = {},
  enabled = true,
) {
  return useInfiniteQuery({
    enabled,
    queryKey: ["threads", search],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      request("/threads/info/search", ThreadPage, {
        method: "POST",
        body: { limit: 50, cursor: pageParam, ...search },
        signal,
      }),
    getNextPageParam: (page) => page.next,
    placeholderData: (before) => before,
  });
}

/** What the head of a thread shows. */
export function useThreadDetails(threadId: string, enabled = true) {
  return useQuery({
    queryKey: ["thread", threadId],
    queryFn: ({ signal }) => request(`/threads/${threadId}/info`, ThreadDetails, { signal }),
    enabled,
  });
}

const Said = z.object({
  messages: z.array(z.object({ id: z.nullable(z.string()), role: z.string(), content: z.string() })),
});

/** Messages of a preview, and how many are read to find them among those of tools. */
const [previewed, readForPreview] = [5, 40];

/** What was said last in a thread, without what tools did. */
export function useLastMessages(threadId: string) {
  return useQuery({
    queryKey: ["thread-last", threadId],
    queryFn: ({ signal }) => request(`/threads/${threadId}/messages?limit=${readForPreview}`, Said, { signal }),
    select: ({ messages }) =>
      messages.filter(({ role, content }) => role !== "tool" && content.trim() !== "").slice(-previewed),
    refetchOnMount: "always",
  });
}

const ThreadUsage = z.object({
  session: z.object({
    requests: z.number(),
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    cached_tokens: z.number(),
    cache_hit_ratio: z.number(),
    cost: z.nullable(z.number()),
  }),
});
/** What the calls of models have used in a thread. */
export type ThreadUsage = z.infer<typeof ThreadUsage>;

/** What the calls of models have used in a thread. */
export function useThreadUsage(threadId: string) {
  return useQuery({
    queryKey: ["thread-usage", threadId],
    queryFn: ({ signal }) => request(`/threads/${threadId}/usage`, ThreadUsage, { signal }),
  });
}

const Origin = z.object({
  metadata: z.object({
    copied_from: z.optional(z.string()),
    forked_from: z.optional(z.object({ thread_id: z.string() })),
  }),
});

/** The id of the thread that one is a copy of; null where it is none. */
export function useOrigin(threadId: string) {
  return useQuery({
    queryKey: ["thread-origin", threadId],
    queryFn: ({ signal }) => request(`/threads/${threadId}`, Origin, { signal }),
    select: ({ metadata: { copied_from, forked_from } }) => copied_from ?? forked_from?.thread_id ?? null,
  });
}

/** The agents that work or have worked for a thread in the background, oldest first. */
export function useBackgroundAgents(threadId: string) {
  return useQuery({
    queryKey: ["background-agents", threadId],
    queryFn: ({ signal }) => request(`/threads/${threadId}/agents`, z.array(BackgroundAgent), { signal }),
  });
}

/** Everybody that can be talked to or started. */
export function useAssistants() {
  return useQuery({
    queryKey: ["assistants"],
    queryFn: ({ signal }) =>
      request("/assistants/search", z.array(Assistant), { method: "POST", body: { limit: 1_000 }, signal }),
    staleTime: 60_000,
  });
}

/** The models that a run may choose. */
export function useModels() {
  return useQuery({
    queryKey: ["models"],
    queryFn: ({ signal }) => request("/models", ModelList, { signal }),
    staleTime: 60_000,
  });
}

/** Gives a thread another name; an empty one is the name it has by itself. */
export async function renameThread(threadId: string, name: string): Promise<void> {
  const body = { name: name.trim() === "" ? null : name.trim() };
  await perform(`/threads/${threadId}/info`, { method: "PATCH", body });
}

/** Pins or archives a thread, or takes that back; or notes how far it was read. */
export async function markThread(
  threadId: string,
  marks: { pinned?: boolean; archived?: boolean; read_at?: string },
): Promise<void> {
  await perform(`/threads/${threadId}/info`, { method: "PATCH", body: marks });
}

/** Deletes a thread for ever. */
export async function deleteThread(threadId: string): Promise<void> {
  await perform(`/threads/${threadId}`, { method: "DELETE", keepalive: true });
}

const endings = { markdown: "md", json: "json", text: "txt" } as const;
/** How a thread can be written down. */
export type ExportFormat = keyof typeof endings;

/** Saves a thread as a file of the person's. */
export async function exportThread(
  { thread_id, name }: Pick<ThreadInfo, "thread_id" | "name">,
  format: ExportFormat,
): Promise<void> {
  const response = await send(`/threads/${thread_id}/export?format=${format}`);
  const title = name.replaceAll(/[^\p{L}\p{N} _-]/gu, "").slice(0, 80) || "chat";
  saveAs(await response.blob(), `${title}.${endings[format]}`);
}

/** Makes a thread of an exported file; gives its id. Throws for a file that is no JSON. */
export async function importThread(file: File): Promise<string> {
  const exported: unknown = JSON.parse(await file.text());
  const thread = await request("/threads/import", Thread, { method: "POST", body: exported });
  return thread.thread_id;
}

/** Makes a thread for an assistant; gives its id. */
export async function createThread(threadId?: string): Promise<string> {
  const body = threadId === undefined ? {} : { thread_id: threadId, if_exists: "do_nothing" };
  const thread = await request("/threads", Thread, { method: "POST", body });
  return thread.thread_id;
}

/** Copies a thread up to a message; gives the copy's id. */
export async function forkThread(threadId: string, messageId?: string): Promise<string> {
  const body = messageId === undefined ? {} : { message_id: messageId };
  const thread = await request(`/threads/${threadId}/fork`, Thread, { method: "POST", body });
  return thread.thread_id;
}

/** Takes a message out of a thread, with the results of its calls; earlier states keep them. */
export function deleteMessage(threadId: string, messageId: string): Promise<void> {
  return perform(`/threads/${threadId}/messages/${encodeURIComponent(messageId)}`, { method: "DELETE" });
}
