import type { OperationReader } from "@millrace/engine/storage/attempt-store";
import type { OperationRecord } from "@millrace/engine/storage/records";
import type { DiffLine } from "./line-diff.ts";
import { linesShown } from "./operation-diff.ts";
import { textOfState } from "./record-operation.ts";

/** A run's changes to one file. `content` is the text afterwards; `null` if it is not text or deleted. */
export interface FileChanges {
  type: "added" | "modified";
  diffs: string[];
  content: string | null;
}

/** A failed call may have changed something too, such as half a folder. */
export function canUndo({ status, change, is_kept }: OperationRecord): boolean {
  const isOver = status === "success" || status === "failed";
  return isOver && is_kept && (change.kind === "move" || change.after !== null);
}

/** "added" stays; the newest content wins; diffs are appended. */
export async function addChange(
  found: Map<string, FileChanges>,
  operation: OperationRecord,
  store: OperationReader,
): Promise<void> {
  const { change } = operation;
  // The editor's text is not a file until the user saves it.
  if (change.kind === "document") return;
  if (change.kind === "move") {
    // Failed or unknown without anything to undo: nothing moved.
    if (operation.status !== "success" && !canUndo(operation)) return;
    const moved = found.get(change.from);
    found.delete(change.from);
    found.set(change.to, moved ?? { type: "added", diffs: [], content: null });
    return;
  }
  if (change.after === null || (change.before.kind === "absent" && change.after.kind === "absent")) return;
  const lines = await linesShown(operation, store);
  const isNew = change.before.kind === "absent";
  const known: FileChanges = found.get(change.path) ?? { type: isNew ? "added" : "modified", diffs: [], content: null };
  found.set(change.path, known);
  if (lines.length > 0) known.diffs.push(lines.map(diffText).join("\n"));
  known.content =
    change.after.kind === "file"
      ? ((await textOfState(change.after, (hash) => store.content(operation.operation_id, hash))) ?? null)
      : null;
}

function diffText({ kind, text }: DiffLine): string {
  return `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`;
}
