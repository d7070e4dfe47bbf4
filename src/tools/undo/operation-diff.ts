import type { OperationRecord } from "@millrace/engine/storage/records";
import type { OperationReader } from "@millrace/engine/storage/attempt-store";
import type { Language } from "@millrace/engine/language";
import { hunksOf, type HunkLine } from "./hunks.ts";
import { type DiffLine, diffLines } from "./line-diff.ts";
import { noteOf, textOfState } from "./record-operation.ts";
import type { OperationNote } from "../runtime/result.ts";
import type { ToolkitServices } from "../runtime/toolkit-services.ts";
import { formatOf, formatTexts } from "../workspace/file-formats.ts";

/** The diff of an operation. If `lines` is empty, `reason` says why. */
export interface OperationDiff {
  operation_id: string;
  path: string;
  added: number;
  removed: number;
  lines: HunkLine[];
  /** Number of diff lines left out. */
  more: number;
  /** Number of hunks that can be taken back one by one. */
  hunks: number;
  reason: "not_text" | "not_kept" | "moved" | "pending" | null;
}

/** The first `limit` lines of an operation's diff with context; for documents the diff of their text. */
export async function diffOf(
  operation: OperationRecord,
  store: OperationReader,
  limit: number,
  services: ToolkitServices,
  signal: AbortSignal,
): Promise<OperationDiff> {
  const plain = await difference(operation, store);
  const found = plain === "not_text" ? await documentDifference(operation, store, services, signal) : plain;
  const all = typeof found === "string" ? [] : found;
  const shown = hunksOf(all);
  return {
    operation_id: operation.operation_id,
    path: noteOf(operation).path,
    added: all.filter(({ kind }) => kind === "added").length,
    removed: all.filter(({ kind }) => kind === "removed").length,
    lines: shown.slice(0, limit),
    more: Math.max(0, shown.length - limit),
    hunks: typeof plain !== "string" && hasHunks(operation) ? (shown.at(-1)?.hunk ?? 0) : 0,
    reason: typeof found === "string" ? found : null,
  };
}

/** Whether a part of the change can be taken back: it made another text of a text. */
export function hasHunks({ change, status }: OperationRecord): boolean {
  const isOfFile = change.kind === "write" && change.before.kind === "file" && change.after?.kind === "file";
  return isOfFile && status !== "undone" && status !== "pending";
}

/** The diff of a text file with context; empty if it is not text or not stored. */
export async function linesShown(operation: OperationRecord, store: OperationReader): Promise<DiffLine[]> {
  const lines = await difference(operation, store);
  return typeof lines === "string" ? [] : hunksOf(lines);
}

async function difference(
  { operation_id, change }: OperationRecord,
  store: OperationReader,
): Promise<DiffLine[] | NonNullable<OperationDiff["reason"]>> {
  if (change.kind === "move") return "moved";
  if (change.after === null) return "pending";
  const states = [change.before, change.after];
  const texts = await Promise.all(
    states.map((state) => textOfState(state, (hash) => store.content(operation_id, hash))),
  );
  const [before, after] = texts;
  if (before !== undefined && after !== undefined) return diffLines(before, after);
  const kept = await Promise.all(
    states.map(async (state) => state.kind !== "file" || (await store.content(operation_id, state.hash)) !== undefined),
  );
  return kept.includes(false) ? "not_kept" : "not_text";
}

/** The diff of a document's text, such as a Word file. */
async function documentDifference(
  { operation_id, change }: OperationRecord,
  store: OperationReader,
  services: ToolkitServices,
  signal: AbortSignal,
): Promise<DiffLine[] | "not_text"> {
  if (change.kind !== "write" || change.after === null) return "not_text";
  const states = [change.before, change.after];
  const format = formatOf(change.path, services);
  const texts = await formatTexts(format, states, (hash) => store.content(operation_id, hash), signal);
  return texts === undefined ? "not_text" : diffLines(texts[0] ?? "", texts[1] ?? "");
}

const verbs = {
  en: { create: "Created", modify: "Changed", delete: "Deleted", move: "Moved", edit: "Changed in the editor:" },
  zh: { create: "创建", modify: "修改", delete: "删除", move: "移动", edit: "在编辑器中修改" },
};

/** One line about a change, for a card. */
export function operationText(
  operation: Pick<OperationNote, "type" | "path" | "lines_added" | "lines_removed"> & { old_path: string | null },
  language: Language,
): string {
  const { type, path, old_path, lines_added, lines_removed } = operation;
  const verb = verbs[language][type];
  if (old_path !== null) return language === "en" ? `${verb} ${old_path} to ${path}` : `${verb} ${old_path} 到 ${path}`;
  if (lines_added === null || lines_removed === null) return `${verb} ${path}`;
  return language === "en"
    ? `${verb} ${path} (+${lines_added}, -${lines_removed} lines)`
    : `${verb} ${path}（+${lines_added} 行，-${lines_removed} 行）`;
}
