import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { ApiError, perform, request, send } from "./client.ts";
import { contentOf, type FileContent } from "./file-content.ts";
import { Operation, OperationDiff } from "./shapes.ts";

/** The lines that an operation changed. */
export function useDiff(threadId: string, operationId: string, limit: number) {
  return useQuery({
    queryKey: ["diff", threadId, operationId, limit],
    queryFn: ({ signal }) =>
      request(`/threads/${threadId}/operations/${operationId}/diff?limit=${limit}`, OperationDiff, { signal }),
    staleTime: 60_000,
  });
}

const Net = z.array(
  z.object({
    path: z.string(),
    before: z.nullable(z.string()),
    after: z.nullable(z.string()),
    operations: z.array(z.string()),
  }),
);
const Folder = z.object({ entries: z.array(z.object({ path: z.string(), kind: z.string() })) });

/**
 * Whether an operation made or deleted a folder. One with lines is of a text; of others the server knows it as long as they
 * count, and what was put back is looked at where it stands.
 */
export function useIsFolder(threadId: string, { operation_id, type, status, path, lines_added }: Operation): boolean {
  const { data } = useQuery({
    queryKey: ["is-folder", threadId, operation_id],
    queryFn: async ({ signal }) => {
      const within = encodeURIComponent(path);
      const changes = await request(`/threads/${threadId}/changes?path=${within}&limit=1000`, Net, { signal });
      const own = changes.find((one) => one.path === path && one.operations.includes(operation_id));
      if (own !== undefined) return (type === "delete" ? own.before : own.after) === "folder";
      if (type !== "delete" || status !== "undone") return false;
      const around = encodeURIComponent(path.split("/").slice(0, -1).join("/"));
      const { entries } = await request(`/files?path=${around}`, Folder, { signal });
      return entries.some((entry) => entry.path === path && entry.kind === "folder");
    },
    enabled: lines_added === null && (type === "delete" || type === "create") && status !== "pending",
    staleTime: Infinity,
    retry: false,
  });
  return data ?? false;
}

const addressOf = (threadId: string, operationId: string) => `/threads/${threadId}/operations/${operationId}`;

/** The whole of a file before or after an operation. */
export async function readContent(
  threadId: string,
  operationId: string,
  side: "before" | "after",
  signal: AbortSignal,
): Promise<FileContent> {
  return contentOf(await send(`${addressOf(threadId, operationId)}/content?side=${side}`, { signal }));
}

/** A file of a folder that an operation deleted. */
export async function readDeleted(
  threadId: string,
  operationId: string,
  file: string,
  signal: AbortSignal,
): Promise<FileContent> {
  const address = addressOf(threadId, operationId);
  return contentOf(await send(`${address}/content?file=${encodeURIComponent(file)}`, { signal }));
}

const Entries = z.array(z.object({ path: z.string(), kind: z.string(), size: z.nullable(z.number()) }));

/** What lay in a folder that an operation deleted. */
export function useDeleted(threadId: string, operationId: string) {
  return useQuery({
    queryKey: ["deleted", threadId, operationId],
    queryFn: ({ signal }) => request(`${addressOf(threadId, operationId)}/entries`, Entries, { signal }),
    staleTime: Infinity,
  });
}

/** A file of the workspace as it is now. */
export async function readFileOf(path: string, signal: AbortSignal): Promise<FileContent> {
  return contentOf(await send(`/files/content?path=${encodeURIComponent(path)}`, { signal }));
}

/** Saves a copy of a file of the workspace where the person's files are. */
export async function saveFile(path: string): Promise<void> {
  const response = await send(`/files/content?path=${encodeURIComponent(path)}`);
  saveAs(await response.blob(), path.split("/").at(-1) ?? path);
}

/** Hands bytes to the browser as a file to be saved. */
export function saveAs(bytes: Blob, name: string): void {
  const address = URL.createObjectURL(bytes);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1_000);
}

const Conflict = z.object({
  operation_id: z.string(),
  path: z.string(),
  message: z.string(),
  later: z.array(z.string()),
});
/** Why an operation cannot be taken back; `later`: those that have built on it and would have to go with it. */
export type Conflict = z.infer<typeof Conflict>;
const Undone = z.object({ operations: z.array(Operation), conflicts: z.array(Conflict) });

/** What is taken back, and what stands in the way of it: then nothing is. */
export interface UndoPlan {
  operations: readonly Operation[];
  conflicts: readonly Conflict[];
}

/** All changes since a message, or of a run. */
export type UndoSelection = { since_message: string } | { run_id: string };

/** What would be taken back with them, also what the page has not loaded. */
export function planUndo(threadId: string, what: UndoSelection, signal?: AbortSignal): Promise<UndoPlan> {
  const body = { ...what, dry_run: true };
  return request(`/threads/${threadId}/operations/undo`, Undone, { method: "POST", body, signal });
}

/** Takes one hunk of an operation's diff back; the others stay. */
export async function undoHunk(threadId: string, operationId: string, hunk: number): Promise<void> {
  const path = `/threads/${threadId}/operations/${operationId}/hunks/undo`;
  await perform(path, { method: "POST", body: { hunks: [hunk] } });
}

/** Takes operations back, all of them or none: then the conflicts say why. */
export async function undoTogether(threadId: string, ids: readonly string[]): Promise<UndoPlan> {
  const path = `/threads/${threadId}/operations/undo`;
  try {
    return await request(path, Undone, { method: "POST", body: { operation_ids: ids } });
  } catch (error) {
    const undone = error instanceof ApiError && error.status === 409 ? z.safeParse(Undone, error.body).data : undefined;
    if (undone === undefined) throw error;
    return { operations: [], conflicts: undone.conflicts };
  }
}
