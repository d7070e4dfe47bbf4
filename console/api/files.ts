import { useInfiniteQuery, useQuery, type InfiniteData } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request, send } from "./client.ts";
import { contentOf, type FileContent } from "./file-content.ts";
import { Operation } from "./shapes.ts";
import { queryClient } from "./threads.ts";

const Entry = z.object({
  name: z.string(),
  path: z.string(),
  kind: z.enum(["file", "folder", "link", "other"]),
  size: z.nullable(z.number()),
  modified_at: z.string(),
});
/** A file or a folder of the workspace. */
export type Entry = z.infer<typeof Entry>;
const Folder = z.object({ path: z.string(), entries: z.array(Entry), more: z.number() });

/** What is in a folder of the workspace; empty: the workspace itself. */
export function useFolder(path: string, enabled = true) {
  return useQuery({
    queryKey: ["folder", path],
    enabled,
    queryFn: ({ signal }) => request(`/files?path=${encodeURIComponent(path)}`, Folder, { signal }),
  });
}

const Change = z.extend(Operation, { thread_id: z.string() });
/** Something that a tool has changed in the workspace, with the chat in which it was. */
export type Change = z.infer<typeof Change>;

const Net = z.object({
  path: z.string(),
  before: z.nullable(z.string()),
  after: z.nullable(z.string()),
  lines_added: z.nullable(z.number()),
  lines_removed: z.nullable(z.number()),
});

/** What a chat has come to for each file. */
export function useThreadChanges(threadId: string | undefined) {
  return useQuery({
    queryKey: ["all-changes", "net", threadId],
    enabled: threadId !== undefined,
    queryFn: ({ signal }) => request(`/threads/${threadId ?? ""}/changes?limit=1000`, z.array(Net), { signal }),
  });
}

interface ChangePage {
  changes: Change[];
  next: string | null;
}

/** What tools have changed in all chats, newest first; of a file: its history. */
export function useAllChanges(path?: string) {
  return useInfiniteQuery<ChangePage, Error, InfiniteData<ChangePage>, readonly unknown[], string | null>({
    queryKey: ["all-changes", path],
    initialPageParam: null,
    queryFn: async ({ pageParam, signal }) => {
      const search = new URLSearchParams({
        limit: "50",
        ...(path !== undefined && { path }),
        ...(pageParam !== null && { cursor: pageParam }),
      });
      const response = await send(`/operations?${search}`, { signal });
      const changes = z.parse(z.array(Change), await response.json());
      return { changes, next: response.headers.get("x-pagination-next") };
    },
    getNextPageParam: ({ next }) => next,
  });
}

/** A file of the workspace as it is now. */
export interface FileNow {
  content: FileContent;
  /** Names this content, so that it is replaced only where it is still there. */
  tag: string;
  /** What stands before a text to say that it is UTF-8, if something does. */
  mark: string;
  /** A tool would ask before it changes it: it configures programs, or the operator says so. */
  isCritical: boolean;
}

const mark = "\uFEFF";

/** Reads a file of the workspace, to be shown or changed. */
export function useFileNow(path: string) {
  return useQuery({
    queryKey: ["file-now", "tagged", path],
    queryFn: async ({ signal }): Promise<FileNow> => {
      const response = await send(`/files/content?path=${encodeURIComponent(path)}`, { signal });
      const bytes = await response.clone().arrayBuffer();
      const isMarked = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.slice(0, 3)) === mark;
      const content = await contentOf(response);
      return {
        content,
        tag: response.headers.get("etag") ?? "",
        mark: isMarked ? mark : "",
        isCritical: response.headers.get("millrace-critical-file") === "true",
      };
    },
    retry: false,
  });
}

/** Where a file is written: in place of the content of a tag, or as a new one; and the chat in which it can be undone. */
export interface FileWrite {
  tag: string;
  threadId: string | undefined;
}

function writeAddress(path: string, threadId: string | undefined): string {
  return `/files/content?${new URLSearchParams({ path, ...(threadId !== undefined && { thread_id: threadId }) })}`;
}

/** Writes a text; gives the tag of what is there then. Throws `ApiError` 412 where another one is there. */
export async function writeFileOf(path: string, text: string, { tag, threadId }: FileWrite): Promise<string> {
  const response = await send(writeAddress(path, threadId), {
    method: "PUT",
    bytes: new Blob([text]),
    ...(tag !== "" && { headers: { "If-Match": tag } }),
  });
  await response.body?.cancel();
  return response.headers.get("etag") ?? "";
}

/** Deletes a file that is still as it is known. */
export async function deleteFileOf(path: string, { tag, threadId }: FileWrite): Promise<void> {
  await perform(writeAddress(path, threadId), { method: "DELETE", headers: { "If-Match": tag } });
  await readFilesAgain();
}

/** Reads again what lies in the workspace and what was changed there. */
export async function readFilesAgain(): Promise<void> {
  const keys = ["folder", "all-changes", "file-now"];
  await Promise.all(keys.map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
}
