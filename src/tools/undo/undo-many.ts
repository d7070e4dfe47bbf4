import { isDeepStrictEqual } from "node:util";
import { AppError } from "@millrace/engine/errors/errors";
import type { FileChange, FileState, OperationRecord } from "@millrace/engine/storage/records";
import type { OperationStore } from "@millrace/engine/storage/storage";
import { diffLines } from "./line-diff.ts";
import { textOfState } from "./record-operation.ts";
import { identityOf, isSameState, snapshot } from "./snapshot.ts";

/** Which operations of a session are meant; what is left out takes none away. Dates are ISO-8601. */
export interface OperationSelection {
  ids?: readonly string[] | undefined;
  run_id?: string | undefined;
  /** Those that began at this time or later. */
  since?: string | undefined;
  /** Those of this path of the workspace, and of what is below it. */
  path?: string | undefined;
}

/** Why operations cannot be taken back. */
export interface UndoConflict {
  operation_id: string;
  path: string;
  /** `built_upon`: later operations, which are not among them, have changed the same. `changed`: somebody else has. */
  reason: "built_upon" | "changed" | "not_kept" | "pending";
  /** The later operations, newest first. */
  later: string[];
}

/** What an undo of several would do: `undo` is in the order in which it is done, newest first. */
export interface UndoPlan {
  undo: OperationRecord[];
  already_undone: string[];
  conflicts: UndoConflict[];
}

/** What of a session's files differs from before: the first state that is looked at, and the last. */
export interface NetChange {
  path: string;
  /** Where it was, of what has moved. */
  old_path: string | null;
  type: "create" | "modify" | "delete" | "move" | "edit";
  before: FileState["kind"] | null;
  after: FileState["kind"] | null;
  /** The operations that have done it, oldest first: the first has the content of before, the last that of after. */
  operations: string[];
  lines_added: number | null;
  lines_removed: number | null;
}

/** The path that a person knows a change by. */
export function pathOf(change: FileChange): string {
  return change.kind === "move" ? change.to : change.path;
}

/** The chosen ones of a session's operations. Throws `not_found` for an id that is not among them. */
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
 * Whether and how these operations can be taken back together. `all` are those of the session, newest first. Nothing is
 * changed: what is there now is looked at, so that either all can go or the reasons are known before the first.
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

/** Whether something may be to be taken back. */
function hasEffect({ status, change, is_kept }: OperationRecord): boolean {
  if (status === "undone") return false;
  if (status === "pending") return true;
  if (change.kind === "move") return status === "success" || is_kept;
  return change.after !== null && (is_kept || !isSameState(change.before, change.after));
}

/** Whether a change finds what it left, when the newer ones in `undo` have been taken back. */
async function isAsLeft(
  { change }: OperationRecord,
  undo: readonly OperationRecord[],
  expected: Map<string, FileState>,
  context: { workspace: string; signal: AbortSignal },
): Promise<boolean> {
  const newer = undo.filter((other) => isOverlapping(other.change, change));
  if (change.kind === "move") {
    // What newer ones do to it is looked at when its turn comes.
    if (newer.length > 0) return true;
    const [start, end] = [await identityOf(context, change.from), await identityOf(context, change.to)];
    return end === null ? start === change.identity : end === change.identity;
  }
  const known = expected.get(change.path);
  expected.set(change.path, change.before);
  if (known !== undefined) return change.after !== null && isSameState(known, change.after);
  if (change.kind === "document" || newer.length > 0) return true;
  const { state: now } = await snapshot(context, change.path, "keep");
  // An undo that was cut off has put back a part of a folder; the undo itself looks at each entry.
  if (now.kind === "folder" && change.before.kind === "folder") return true;
  return isSameState(now, change.before) || (change.after !== null && isSameState(now, change.after));
}

function placesOf(change: FileChange): string[] {
  return change.kind === "move" ? [change.from, change.to] : [change.path];
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Whether two changes are about the same, or one about a folder in which the other's is. */
function isOverlapping(one: FileChange, other: FileChange): boolean {
  if ((one.kind === "document") !== (other.kind === "document")) return false;
  return placesOf(one).some((place) =>
    placesOf(other).some((second) => isWithin(place, second) || isWithin(second, place)),
  );
}

/** One path on its way through the operations. */
interface Way {
  old_path: string | null;
  isDocument: boolean;
  before: FileState | null;
  after: FileState | null;
  operations: OperationRecord[];
}

/** What the operations have come to for each path, in the order in which each was first changed; what is as before is left out. */
export async function netChanges(oldestFirst: readonly OperationRecord[], store: OperationStore): Promise<NetChange[]> {
  const ways = new Map<string, Way>();
  for (const one of oldestFirst) {
    if (!hasEffect(one) || one.status === "pending") continue;
    const { change } = one;
    if (change.kind === "move") {
      const former = ways.get(`file ${change.from}`);
      ways.delete(`file ${change.from}`);
      const way: Way = former ?? { old_path: null, isDocument: false, before: null, after: null, operations: [] };
      way.old_path ??= change.from;
      way.operations.push(one);
      ways.set(`file ${change.to}`, way);
      continue;
    }
    const isDocument = change.kind === "document";
    const key = `${isDocument ? "editor" : "file"} ${change.path}`;
    const way = ways.get(key) ?? { old_path: null, isDocument, before: change.before, after: null, operations: [] };
    way.before ??= change.before;
    way.after = change.after;
    way.operations.push(one);
    ways.set(key, way);
  }
  const found: NetChange[] = [];
  for (const [key, way] of ways) {
    const path = key.slice(key.indexOf(" ") + 1);
    const isBack = way.old_path === null || way.old_path === path || way.before?.kind === "absent";
    if (isBack && isDeepStrictEqual(way.before, way.after)) continue;
    found.push({ path, ...(await netOf(way, store)) });
  }
  return found;
}

async function netOf(
  { old_path, isDocument, before, after, operations }: Way,
  store: OperationStore,
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
    // What was made and moved is new at its last place.
    old_path: isNew ? null : old_path,
    type: isDocument ? "edit" : type,
    before: before?.kind ?? null,
    after: after?.kind ?? null,
    operations: operations.map(({ operation_id }) => operation_id),
    lines_added: count("added"),
    lines_removed: count("removed"),
  };
}

/** The text on one side of the first of the operations that knows it. */
async function textIn(
  operations: readonly OperationRecord[],
  side: "before" | "after",
  store: OperationStore,
): Promise<string | undefined> {
  for (const { change, operation_id } of operations) {
    if (change.kind === "move") continue;
    const state = change[side];
    return state === null ? undefined : await textOfState(state, (hash) => store.content(operation_id, hash));
  }
  return undefined;
}

/** The bytes of the file on one side of an operation. Throws `not_found` where there was no file, or it is not kept. */
export async function contentOf(
  { operation_id, change }: OperationRecord,
  side: "before" | "after",
  store: OperationStore,
): Promise<{ path: string; bytes: Uint8Array }> {
  const state = change.kind === "move" ? null : change[side];
  if (state?.kind !== "file") {
    throw new AppError("not_found", `There was no file ${side} operation ${operation_id}.`, {
      suggestion:
        change.kind === "move" ? "What is moved keeps its content." : "It made, removed or replaced something else.",
    });
  }
  const bytes = await store.content(operation_id, state.hash);
  if (bytes !== undefined) return { path: pathOf(change), bytes };
  throw new AppError("not_found", `The file ${side} operation ${operation_id} is not kept.`, {
    suggestion: "Only small files and recent operations are kept.",
  });
}
