import { isDeepStrictEqual } from "node:util";
import { AppError } from "@millrace/engine/errors/errors";
import type { FileChange, FileState, OperationRecord } from "@millrace/engine/storage/records";
import type { OperationReader } from "@millrace/engine/storage/attempt-store";
import { diffLines } from "./line-diff.ts";
import { textOfState } from "./record-operation.ts";
import { identityOf, isSameState, snapshot } from "./snapshot.ts";

/** Selects operations of a session; absent fields do not filter. Dates are ISO-8601. */
export interface OperationSelection {
  ids?: readonly string[] | undefined;
  run_id?: string | undefined;
  /** Started at this time or later. */
  since?: string | undefined;
  /** At this path or below. */
  path?: string | undefined;
}

/** Why an operation cannot be undone. */
export interface UndoConflict {
  operation_id: string;
  path: string;
  /** `built_upon`: later operations outside the selection changed the same path. `changed`: something else did. */
  reason: "built_upon" | "changed" | "not_kept" | "pending";
  /** The later operations, newest first. */
  later: string[];
}

/** The plan for undoing several operations; `undo` is in order of execution, newest first. */
export interface UndoPlan {
  undo: OperationRecord[];
  already_undone: string[];
  conflicts: UndoConflict[];
}

/** The net change of a path between the first and the last selected operation. */
export interface NetChange {
  path: string;
  /** The former path of a moved file. */
  old_path: string | null;
  type: "create" | "modify" | "delete" | "move" | "edit";
  before: FileState["kind"] | null;
  after: FileState["kind"] | null;
  /** The operations involved, oldest first: the first has the content before, the last the content after. */
  operations: string[];
  lines_added: number | null;
  lines_removed: number | null;
}

/** The path shown for a change. */
export function pathOf(change: FileChange): string {
  return change.kind === "move" ? change.to : change.path;
}

/** Filters a session's operations. Throws `not_found` for an unknown id. */
export function selected(all: readonly OperationRecord[], selection: OperationSelection): OperationRecord[] {
  const { ids, run_id, since, path } = selection;
  const wanted = ids === undefined ? undefined : new Set(ids);
  const missing = ids?.find((id) => !all.some(({ operation_id }) => operation_id === id));
  if (missing !== undefined) throw new AppError("not_found", `Operation ${missing} not found`);
  return all.filter(
    (one) =>
      (wanted === undefined || wanted.has(one.operation_id)) &&
      (run_id === undefined || one.run_id === run_id) &&
      (since === undefined || one.created_at >= since) &&
      (path === undefined || placesOf(one.change).some((place) => isWithin(place, path))),
  );
}

/**
 * Plans the undo of several operations. `all` are the session's, newest first. Changes nothing: the present state is
 * checked first, so that all are undone or the conflicts are known.
 */
export async function planUndo(
  all: readonly OperationRecord[],
  chosen: readonly OperationRecord[],
  context: { workspace: string; signal: AbortSignal },
): Promise<UndoPlan> {
  const plan: UndoPlan = { undo: [], already_undone: [], conflicts: [] };
  const ids = new Set(chosen.map(({ operation_id }) => operation_id));
  const newer: OperationRecord[] = [];
  const expected = new Map<string, FileState>();
  for (const one of all) {
    const { operation_id, change, status } = one;
    if (!ids.has(operation_id)) {
      if (hasEffect(one)) newer.push(one);
      continue;
    }
    if (status === "undone") plan.already_undone.push(operation_id);
    if (!hasEffect(one)) continue;
    const later = newer.filter((other) => isOverlapping(other.change, change)).map((other) => other.operation_id);
    const reason =
      status === "pending"
        ? "pending"
        : !one.is_kept
          ? "not_kept"
          : later.length > 0
            ? "built_upon"
            : (await isAsLeft(one, plan.undo, expected, context))
              ? undefined
              : "changed";
    if (reason !== undefined) plan.conflicts.push({ operation_id, path: pathOf(change), reason, later });
    plan.undo.push(one);
  }
  return plan;
}

/** Whether the operation may have something to undo. */
function hasEffect({ status, change, is_kept }: OperationRecord): boolean {
  if (status === "undone") return false;
  if (status === "pending") return true;
  if (change.kind === "move") return status === "success" || is_kept;
  return change.after !== null && (is_kept || !isSameState(change.before, change.after));
}

/** Whether the state is as this change left it, once the newer ones in `undo` are undone. */
async function isAsLeft(
  { change }: OperationRecord,
  undo: readonly OperationRecord[],
  expected: Map<string, FileState>,
  context: { workspace: string; signal: AbortSignal },
): Promise<boolean> {
  const newer = undo.filter((other) => isOverlapping(other.change, change));
  if (change.kind === "move") {
    // Changes by newer operations are checked at their own turn.
    if (newer.length > 0) return true;
    const [start, end] = [await identityOf(context, change.from), await identityOf(context, change.to)];
    return end === null ? start === change.identity : end === change.identity;
  }
  const known = expected.get(change.path);
  expected.set(change.path, change.before);
  if (known !== undefined) return change.after !== null && isSameState(known, change.after);
  if (change.kind === "document" || newer.length > 0) return true;
  const { state: now } = await snapshot(context, change.path, "keep");
  // An interrupted undo may have restored part of a folder; the undo itself checks each entry.
  if (now.kind === "folder" && change.before.kind === "folder") return true;
  return isSameState(now, change.before) || (change.after !== null && isSameState(now, change.after));
}

function placesOf(change: FileChange): string[] {
  return change.kind === "move" ? [change.from, change.to] : [change.path];
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Whether two changes concern the same path, or one contains the other. */
function isOverlapping(one: FileChange, other: FileChange): boolean {
  if ((one.kind === "document") !== (other.kind === "document")) return false;
  return placesOf(one).some((place) =>
    placesOf(other).some((second) => isWithin(place, second) || isWithin(second, place)),
  );
}

/** One path followed through the operations. */
interface TrackedPath {
  old_path: string | null;
  isDocument: boolean;
  before: FileState | null;
  after: FileState | null;
  operations: OperationRecord[];
}

/** The net changes by path, in order of first change; unchanged paths are left out. */
export async function netChanges(
  oldestFirst: readonly OperationRecord[],
  store: OperationReader,
): Promise<NetChange[]> {
  const tracked = new Map<string, TrackedPath>();
  for (const one of oldestFirst) {
    if (!hasEffect(one) || one.status === "pending") continue;
    const { change } = one;
    if (change.kind === "move") {
      const former = tracked.get(`file ${change.from}`);
      tracked.delete(`file ${change.from}`);
      const entry: TrackedPath = former ?? {
        old_path: null,
        isDocument: false,
        before: null,
        after: null,
        operations: [],
      };
      entry.old_path ??= change.from;
      entry.operations.push(one);
      tracked.set(`file ${change.to}`, entry);
      continue;
    }
    const isDocument = change.kind === "document";
    const key = `${isDocument ? "editor" : "file"} ${change.path}`;
    const entry = tracked.get(key) ?? {
      old_path: null,
      isDocument,
      before: change.before,
      after: null,
      operations: [],
    };
    entry.before ??= change.before;
    entry.after = change.after;
    entry.operations.push(one);
    tracked.set(key, entry);
  }
  const found: NetChange[] = [];
  for (const [key, entry] of tracked) {
    const path = key.slice(key.indexOf(" ") + 1);
    const isBack = entry.old_path === null || entry.old_path === path || entry.before?.kind === "absent";
    if (isBack && isDeepStrictEqual(entry.before, entry.after)) continue;
    found.push({ path, ...(await netOf(entry, store)) });
  }
  return found;
}

async function netOf(
  { old_path, isDocument, before, after, operations }: TrackedPath,
  store: OperationReader,
): Promise<Omit<NetChange, "path">> {
  const texts = await Promise.all([
    textIn(operations, "before", store),
    textIn(operations.toReversed(), "after", store),
  ]);
  const [was, is] = texts;
  const lines = was === undefined || is === undefined ? undefined : diffLines(was, is);
  const count = (kind: string): number | null => lines?.filter((line) => line.kind === kind).length ?? null;
  const isNew = before?.kind === "absent";
  const isMoved = old_path !== null && !isNew;
  const type = after?.kind === "absent" ? "delete" : isNew ? "create" : isMoved ? "move" : "modify";
  return {
    // A file created and moved counts as new at its last path.
    old_path: isNew ? null : old_path,
    type: isDocument ? "edit" : type,
    before: before?.kind ?? null,
    after: after?.kind ?? null,
    operations: operations.map(({ operation_id }) => operation_id),
    lines_added: count("added"),
    lines_removed: count("removed"),
  };
}

/** The text before or after the first of the operations that has it. */
async function textIn(
  operations: readonly OperationRecord[],
  side: "before" | "after",
  store: OperationReader,
): Promise<string | undefined> {
  for (const { change, operation_id } of operations) {
    if (change.kind === "move") continue;
    const state = change[side];
    return state === null ? undefined : await textOfState(state, (hash) => store.content(operation_id, hash));
  }
  return undefined;
}
