import { AppError } from "@millrace/engine/errors/errors";
import type { FileState, OperationRecord } from "@millrace/engine/storage/records";
import type { OperationReader } from "@millrace/engine/storage/attempt-store";
import { pathOf } from "./undo-many.ts";

/** What is before or after an operation; `file`: a path in the folder that is there. */
export interface ContentPlace {
  side: "before" | "after";
  file?: string | undefined;
}

/** What lay in a folder, by its path there; `size` in bytes, of files only. */
export interface FolderEntry {
  path: string;
  kind: "file" | "link" | "folder" | "other";
  size: number | null;
}

/** Bytes before or after an operation. Throws `not_found` if there was no such file, or it is not stored. */
export async function contentOf(
  operation: OperationRecord,
  { side, file }: ContentPlace,
  store: OperationReader,
): Promise<{ path: string; bytes: Uint8Array }> {
  const { operation_id, change } = operation;
  const state = file === undefined ? stateOf(operation, side) : entryOf(operation, { side, file });
  if (state?.kind !== "file") {
    const what = file === undefined ? "file" : `file ${JSON.stringify(file.slice(0, 200))}`;
    throw new AppError("not_found", `There was no ${what} ${side} operation ${operation_id}.`, {
      suggestion:
        change.kind === "move" ? "What is moved keeps its content." : "It made, removed or replaced something else.",
    });
  }
  const bytes = await store.content(operation_id, state.hash);
  if (bytes !== undefined) return { path: file ?? pathOf(change), bytes };
  throw new AppError("not_found", `The file ${side} operation ${operation_id} is not kept.`, {
    suggestion: "Only small files and recent operations are kept.",
  });
}

/** All that lay in a folder before or after an operation, outermost first. Throws `not_found` if there was none. */
export function entriesOf(operation: OperationRecord, side: ContentPlace["side"]): FolderEntry[] {
  const state = stateOf(operation, side);
  if (state?.kind === "folder") {
    return state.entries.map(({ path, state: { kind, ...own } }) => ({
      path,
      kind,
      size: "size" in own ? own.size : null,
    }));
  }
  throw new AppError("not_found", `There was no folder ${side} operation ${operation.operation_id}.`, {
    suggestion: "See …/content for the content of a file.",
  });
}

function stateOf({ change }: OperationRecord, side: ContentPlace["side"]): FileState | null {
  return change.kind === "move" ? null : change[side];
}

function entryOf(operation: OperationRecord, { side, file }: Required<ContentPlace>) {
  const state = stateOf(operation, side);
  return state?.kind === "folder" ? state.entries.find(({ path }) => path === file)?.state : undefined;
}
