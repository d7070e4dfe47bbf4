import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { ApiError, perform, request, send } from "./client.ts";
import { contentOf, type FileContent } from "./file-content.ts";
import { Operation, OperationDiff } from "./shapes.ts";

/** The lines that an operation changed. */
export function useDiff(threadId: string, operationId: string, limit: number, enabled = true) {
  return useQuery({
    queryKey: ["diff", threadId, operationId, limit],
    queryFn: ({ signal }) =>
      request(`/threads/${threadId}/operations/${operationId}/diff?limit=${limit}`, OperationDiff, { signal }),
    enabled,
    staleTime: 60_000,
  });
}

/** The whole of a file before or after an operation. */
export async function readContent(
  threadId: string,
  operationId: string,
  side: "before" | "after",
  signal: AbortSignal,
): Promise<FileContent> {
  return contentOf(await send(`/threads/${threadId}/operations/${operationId}/content?side=${side}`, { signal }));
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
    const told = error instanceof ApiError && error.status === 409 ? z.safeParse(Undone, error.body).data : undefined;
    if (told === undefined) throw error;
    return { operations: [], conflicts: told.conflicts };
  }
}
