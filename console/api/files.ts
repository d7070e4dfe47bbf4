import { useInfiniteQuery, useQuery, type InfiniteData } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request, send } from "./client.ts";
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

/** Reads again what lies in the workspace and what was changed there. */
export async function readFilesAgain(): Promise<void> {
  const keys = ["folder", "all-changes", "file-now"];
  await Promise.all(keys.map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
}
