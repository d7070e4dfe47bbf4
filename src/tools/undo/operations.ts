import { AppError } from "@millrace/engine/errors/errors";
import type { OperationRecord, Page } from "@millrace/engine/storage/records";
import type { OperationReader } from "@millrace/engine/storage/attempt-store";
import { undoChange } from "./undo-change.ts";
import { type NetChange, netChanges, type OperationSelection, planUndo, selected, type UndoPlan } from "./undo-many.ts";
import { contentOf, type ContentPlace, entriesOf, type FolderEntry } from "./operation-content.ts";
import { diffOf, type OperationDiff } from "./operation-diff.ts";
import { noteOf, textOfState } from "./record-operation.ts";
import { addChange, canUndo, type FileChanges } from "./run-changes.ts";
import {
  createManualWrites,
  type ManualWriteParts,
  type ManualWrite,
  type ManualWriteResult,
} from "./manual-writes.ts";
import type { OperationNote } from "../runtime/result.ts";

/** A recorded change as clients show it. */
export interface OperationCard extends OperationNote {
  run_id: string;
  message_id: string;
  tool: string;
  status: OperationRecord["status"];
  /** The former path of a moved file. */
  old_path: string | null;
  can_undo: boolean;
  /** The text for the client's editor after an undo of its document. */
  content?: string;
  created_at: string;
  updated_at: string;
}

/** Operations that were, or would be, undone, newest first; with conflicts none was. */
export interface UndoneMany extends Omit<UndoPlan, "undo"> {
  operations: OperationCard[];
}

/** How a write by hand ended. */
export interface FileWritten extends Omit<ManualWriteResult, "recorded"> {
  operation: OperationCard | undefined;
}

/** Recorded changes of a workspace and their undo. */
export interface Operations {
  list(
    sessionId: string,
    query: Page & { run_id?: string | undefined; message_id?: string | undefined },
  ): Promise<{ operations: OperationCard[]; total: number }>;
  /** The first `limit` diff lines with context. Throws `not_found`, and the signal's reason. */
  diff(sessionId: string, operationId: string, limit: number, signal: AbortSignal): Promise<OperationDiff>;
  /**
   * Restores the replaced content byte for byte; repeating it changes nothing. Throws `not_found`, `invalid_state` if
   * it cannot be undone, and `conflict`, with nothing changed, if the file has changed since.
   */
  undo(sessionId: string, operationId: string, signal: AbortSignal): Promise<OperationCard>;
  /**
   * Undoes several operations, newest first, or none if there are conflicts. `dryRun` only plans. Operations already
   * undone are skipped. Throws `not_found` for an unknown id.
   */
  undoMany(
    sessionId: string,
    selection: OperationSelection,
    options: { dryRun: boolean; signal: AbortSignal },
  ): Promise<UndoneMany>;
  /** See `ManualWrites.write`; `operation` is what was recorded of it. */
  write(change: ManualWrite, signal: AbortSignal): Promise<FileWritten>;
  /** See `ManualWrites.undoHunks`; gives the operation by which it was done. */
  undoHunks(
    sessionId: string,
    operationId: string,
    hunks: readonly number[],
    signal: AbortSignal,
  ): Promise<OperationCard>;
  /** The net changes of the operations, by path. */
  net(sessionId: string, selection: OperationSelection): Promise<NetChange[]>;
  /** The bytes of a file before or after an operation. Throws `not_found`. */
  content(sessionId: string, operationId: string, place: ContentPlace): Promise<{ path: string; bytes: Uint8Array }>;
  /** What lay in the folder before or after an operation. Throws `not_found`. */
  entries(sessionId: string, operationId: string, side: ContentPlace["side"]): Promise<FolderEntry[]>;
  /** A run's changes, by path. */
  changes(sessionId: string, runId: string): Promise<Record<string, FileChanges>>;
}

/** What `createOperations` needs. */
interface OperationParts extends ManualWriteParts {
  onUndone?: (sessionId: string, card: OperationCard) => void;
}

/**
 * Opens a workspace's recorded changes. `locks` are the tools' own, so that undos and tools exclude each other.
 * `onUndone` is called after each stored undo.
 */
export function createOperations(parts: OperationParts): Operations {
  const { store } = parts;
  const require = async (sessionId: string, operationId: string): Promise<OperationRecord> => {
    const operation = await store.get(sessionId, operationId);
    if (operation === undefined) throw new AppError("not_found", `Operation ${operationId} not found`);
    return operation;
  };
  const undoOne = (sessionId: string, operationId: string, signal: AbortSignal): Promise<OperationCard> =>
    undoLocked(() => require(sessionId, operationId), parts, signal);
  const manualWrites = createManualWrites(parts);
  return {
    async list(sessionId, query) {
      const { operations, total } = await store.list(sessionId, query);
      return { operations: operations.map(cardOf), total };
    },

    async diff(sessionId, operationId, limit, signal) {
      return await diffOf(await require(sessionId, operationId), store, limit, parts.toolkitServices, signal);
    },

    undo: async (sessionId, operationId, signal) => {
      const keys = lockKeys(await require(sessionId, operationId), parts.workspace);
      return parts.locks.withLocks(keys, signal, () => undoOne(sessionId, operationId, signal));
    },

    undoMany: async (sessionId, selection, { dryRun, signal }) => {
      const wanted = selected(await allOperations(store, sessionId), selection);
      const keys = [...new Set(wanted.flatMap((one) => lockKeys(one, parts.workspace)))];
      return parts.locks.withLocks(keys, signal, async () => {
        // Read again: a tool or another undo may have run while this one waited.
        const all = await allOperations(store, sessionId);
        const ids = wanted.map(({ operation_id }) => operation_id);
        const { undo, ...plan } = await planUndo(all, selected(all, { ids }), { workspace: parts.workspace, signal });
        if (dryRun || plan.conflicts.length > 0) return { ...plan, operations: undo.map(cardOf) };
        const operations: OperationCard[] = [];
        for (const { operation_id } of undo) operations.push(await undoOne(sessionId, operation_id, signal));
        return { ...plan, operations };
      });
    },

    write: async (change, signal) => {
      const { recorded, ...done } = await manualWrites.write(change, signal);
      const { sessionId } = change;
      if (sessionId === undefined || recorded === undefined) return { ...done, operation: undefined };
      return { ...done, operation: cardOf(await require(sessionId, recorded)) };
    },

    undoHunks: async (sessionId, operationId, hunks, signal) => {
      const done = await manualWrites.undoHunks(await require(sessionId, operationId), hunks, signal);
      return cardOf(await require(sessionId, done));
    },

    net: async (sessionId, selection) => {
      const all = await allOperations(store, sessionId, selection.run_id);
      return await netChanges(selected(all, selection).toReversed(), store);
    },

    content: async (sessionId, operationId, place) => contentOf(await require(sessionId, operationId), place, store),

    entries: async (sessionId, operationId, side) => entriesOf(await require(sessionId, operationId), side),

    changes: async (sessionId, runId) => {
      // A Map, because a file may be named like a property of Object.prototype.
      const found = new Map<string, FileChanges>();
      for (const operation of (await allOperations(store, sessionId, runId)).toReversed()) {
        if (operation.status !== "undone") await addChange(found, operation, store);
      }
      return Object.fromEntries(found);
    },
  };
}

/** Undoes the operation returned by `find`; its locks are held. */
async function undoLocked(
  find: () => Promise<OperationRecord>,
  parts: OperationParts,
  signal: AbortSignal,
): Promise<OperationCard> {
  // Another undo may have run while this one waited.
  const operation = await find();
  const { store, workspace, confirm } = parts;
  const { operation_id, session_id, change } = operation;
  if (operation.status === "undone") return cardOf(operation);
  if (!canUndo(operation)) throw notUndoable(operation);
  if (change.kind === "document") return await undoEdit(operation, parts);
  // A crash may have interrupted an earlier undo.
  await undoChange({ workspace, repeated: true, signal, confirm }, change, (hash) =>
    keptContent(store, operation, hash),
  );
  await store.settle(operation_id, { ...operation, status: "undone" }, new Map());
  const card = cardOf(await find());
  parts.onUndone?.(session_id, card);
  return card;
}

/** A record as clients show it. */
export function cardOf(operation: OperationRecord): OperationCard {
  const { run_id, message_id, tool, status, change, created_at, updated_at } = operation;
  return {
    ...noteOf(operation),
    run_id,
    message_id,
    tool,
    status,
    old_path: change.kind === "move" ? change.from : null,
    can_undo: canUndo(operation),
    created_at,
    updated_at,
  };
}

function notUndoable(operation: OperationRecord): AppError {
  const isPending = operation.status === "pending";
  return new AppError(
    "invalid_state",
    isPending
      ? `Operation ${operation.operation_id} has no known end yet; it cannot be undone.`
      : `Operation ${operation.operation_id} cannot be undone: it changed nothing, or what it replaced is not kept.`,
    { suggestion: isPending ? "Try again when its run is over." : "Only small files and recent operations are kept." },
  );
}

async function keptContent(store: OperationReader, operation: OperationRecord, hash: string): Promise<Uint8Array> {
  const bytes = await store.content(operation.operation_id, hash);
  if (bytes === undefined) throw notUndoable(operation);
  return bytes;
}

/** Returns the editor document's former text, which the client restores. Only the newest change can be undone. */
async function undoEdit(
  operation: OperationRecord,
  { store, onUndone }: Pick<OperationParts, "store" | "onUndone">,
): Promise<OperationCard> {
  const { change, operation_id, session_id } = operation;
  if (change.kind !== "document") throw notUndoable(operation);
  const later = (await allOperations(store, session_id)).find(
    (other) => other.change.kind === "document" && other.change.path === change.path && other.status === "success",
  );
  if (later !== undefined && later.operation_id !== operation_id) {
    throw new AppError("conflict", "The document in the editor has been changed again since this operation.", {
      suggestion: "Undo the later operations on it first.",
    });
  }
  const content = await textOfState(change.before, (hash) => keptContent(store, operation, hash));
  if (content === undefined) throw notUndoable(operation);
  await store.settle(operation_id, { ...operation, status: "undone" }, new Map());
  const card = { ...cardOf({ ...operation, status: "undone" }), content };
  onUndone?.(session_id, card);
  return card;
}

function lockKeys({ change, session_id }: OperationRecord, workspace: string): string[] {
  if (change.kind === "document") return [`editor:${session_id}`];
  const paths = change.kind === "move" ? [change.from, change.to] : [change.path];
  return paths.map((path) => `write:${workspace}/${path}`);
}

/** All operations of a session or a run, newest first. */
async function allOperations(store: OperationReader, sessionId: string, runId?: string): Promise<OperationRecord[]> {
  // An operation added meanwhile shifts the pages, so one may come twice.
  const all = new Map<string, OperationRecord>();
  for (let offset = 0; ;) {
    const page = await store.list(sessionId, { run_id: runId, limit: 100, offset });
    for (const operation of page.operations) all.set(operation.operation_id, operation);
    offset += page.operations.length;
    if (page.operations.length === 0 || offset >= page.total) return [...all.values()];
  }
}
