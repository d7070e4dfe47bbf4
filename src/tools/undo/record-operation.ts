import { createHash } from "node:crypto";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { clusterDate } from "@millrace/engine/concurrency/cluster-time";
import type { FileChange, OperationRecord } from "@millrace/engine/storage/records";
import type { OperationStore } from "@millrace/engine/storage/attempt-store";
import { identityOf, isSameState, missingFolders, snapshot, type Snapshot } from "./snapshot.ts";
import { locate } from "../workspace/workspace-path.ts";
import { diffLines } from "./line-diff.ts";
import { expectedFailure, type OperationNote, type ToolResult } from "../runtime/result.ts";
import type { Tool, ToolContext, Touched } from "../runtime/tool.ts";

/** The call's run and message. */
export interface OperationOwner {
  run_id: string;
  message_id: string;
}

/** The state before a call: its open change, and the bytes to restore. */
interface Beginning {
  change: FileChange;
  contents: ReadonlyMap<string, Uint8Array>;
  isWhole: boolean;
}

const nothing: ReadonlyMap<string, Uint8Array> = new Map();

/**
 * Runs a tool and records what it touches: the state before is stored before the tool starts, the state after when it
 * ends, also after a failure or stop. Must be called under the call's locks. A call repeated after a crash keeps the
 * state from before its first start.
 */
export async function recordOperation(
  tool: Pick<Tool, "name" | "touches" | "run">,
  input: Record<string, unknown>,
  context: ToolContext,
  owner: OperationOwner,
  store: OperationStore,
): Promise<ToolResult> {
  const touched = tool.touches?.(input);
  const beginning = touched === undefined ? undefined : await lookBefore(touched, context);
  if (beginning === undefined) return tool.run(input, context);
  const now = clusterDate();
  const draft: OperationRecord = {
    operation_id: newId(),
    session_id: context.sessionId,
    ...owner,
    tool_call_id: context.callId,
    tool: tool.name,
    status: "pending",
    change: beginning.change,
    lines_added: null,
    lines_removed: null,
    first_line: null,
    is_kept: beginning.isWhole,
    created_at: now,
    updated_at: now,
  };
  const record = await store.begin(draft, beginning.isWhole ? beginning.contents : nothing);
  let result: ToolResult | undefined;
  try {
    context.signal.throwIfAborted();
    result = await tool.run(input, context);
  } finally {
    const note = await settle(record, result?.success === true, context, store, result?.document?.content);
    if (result !== undefined && note !== undefined) result = { ...result, operation: note };
  }
  return result;
}

/**
 * Completes the record of a call that took effect before a crash, so that it can be undone. Returns its result with the
 * operation.
 */
export async function settleFound(
  record: OperationRecord,
  result: ToolResult,
  context: ToolContext,
  store: OperationStore,
): Promise<ToolResult> {
  if (record.status !== "pending") return record.is_kept ? { ...result, operation: noteOf(record) } : result;
  const note = await settle(record, result.success, context, store);
  return note === undefined ? result : { ...result, operation: note };
}

/** The state of what a call touches. `undefined` for a refused or invalid path: the tool itself reports it. */
async function lookBefore(touched: Touched, context: ToolContext): Promise<Beginning | undefined> {
  try {
    if (touched.kind === "document") {
      const { document } = context.conversation;
      if (document === undefined || !document.isEditable) return undefined;
      const { state, contents } = textState(await document.text());
      const { path, turn } = document;
      const change: FileChange = { kind: "document", path, turn, before: state, after: null };
      return { change, contents, isWhole: true };
    }
    if (touched.kind === "write") {
      const found = await snapshot(context, touched.path, touched.lastLink);
      const change: FileChange = {
        kind: "write",
        path: found.path,
        before: found.state,
        after: null,
        made: found.missing,
      };
      return { change, contents: found.contents, isWhole: found.isWhole };
    }
    const from = await locate(context.workspace, touched.from, "keep");
    const to = await locate(context.workspace, touched.to, "keep");
    const identity = await identityOf(context, touched.from);
    const made = missingFolders(context.workspace, to);
    return { change: { kind: "move", from: from.path, to: to.path, identity, made }, contents: nothing, isWhole: true };
  } catch (error) {
    if (expectedFailure(error) === undefined) throw error;
    return undefined;
  }
}

/** Stores the end of a call. Returns the operation's note; `undefined` if nothing changed. */
async function settle(
  record: OperationRecord,
  succeeded: boolean,
  context: ToolContext,
  store: OperationStore,
  inEditor?: string,
): Promise<OperationNote | undefined> {
  // The end must be recorded even after a stop.
  const looking = { ...context, signal: new AbortController().signal };
  const status = succeeded ? "success" : "failed";
  const unknown = { lines_added: null, lines_removed: null, first_line: null };
  if (record.change.kind === "move") {
    const { change } = record;
    const isMoved = await hasMoved(looking, change);
    await store.settle(record.operation_id, { status, change, ...unknown, is_kept: isMoved }, nothing);
    return isMoved ? noteOf({ ...record, ...unknown }) : undefined;
  }
  const found =
    record.change.kind === "document"
      ? documentAfter(record.change, succeeded ? inEditor : undefined)
      : await lookAfter(looking, record.change.path);
  if (found === undefined) {
    await store.settle(record.operation_id, { status, change: record.change, ...unknown, is_kept: false }, nothing);
    return undefined;
  }
  const change = { ...record.change, after: found.state };
  const isChanged = !isSameState(change.before, found.state);
  const lines = isChanged ? await countLines(record, found, store) : unknown;
  const end = { status, change, ...lines, is_kept: record.is_kept && isChanged } as const;
  await store.settle(record.operation_id, end, found.contents);
  return isChanged ? noteOf({ ...record, ...end }) : undefined;
}

/** The editor's state after a call: the new text, or the old one. */
function documentAfter(
  { before }: FileChange & { kind: "document" },
  content: string | undefined,
): Pick<Snapshot, "state" | "contents"> {
  return content === undefined ? { state: before, contents: new Map() } : textState(content);
}

/** The state of a text that is not a file. */
function textState(text: string): Pick<Snapshot, "state" | "contents"> {
  const bytes = Buffer.from(text);
  const hash = createHash("sha256").update(bytes).digest("hex");
  return { state: { kind: "file", mode: 0, size: bytes.length, hash }, contents: new Map([[hash, bytes]]) };
}

async function hasMoved(context: ToolContext, change: FileChange & { kind: "move" }): Promise<boolean> {
  try {
    if (change.identity === null || (await identityOf(context, change.to)) !== change.identity) return false;
    return (await identityOf(context, change.from)) !== change.identity;
  } catch (error) {
    if (expectedFailure(error) === undefined) throw error;
    return false;
  }
}

/** `undefined` if the path can no longer be read; the call has ended all the same. */
async function lookAfter(context: ToolContext, path: string): Promise<Snapshot | undefined> {
  try {
    return await snapshot(context, path, "keep");
  } catch (error) {
    if (expectedFailure(error) === undefined) throw error;
    return undefined;
  }
}

async function countLines(
  record: OperationRecord,
  found: Pick<Snapshot, "state" | "contents">,
  store: OperationStore,
): Promise<Pick<OperationRecord, "lines_added" | "lines_removed" | "first_line">> {
  const unknown = { lines_added: null, lines_removed: null, first_line: null };
  if (record.change.kind === "move") return unknown;
  const before = await textOfState(record.change.before, (hash) => store.content(record.operation_id, hash));
  const after = await textOfState(found.state, async (hash) => found.contents.get(hash));
  if (before === undefined || after === undefined) return unknown;
  const changed = diffLines(before, after).filter((line) => line.kind !== "same");
  const first = changed[0];
  return {
    lines_added: changed.filter((line) => line.kind === "added").length,
    lines_removed: changed.filter((line) => line.kind === "removed").length,
    first_line: first?.new_line ?? first?.old_line ?? null,
  };
}

/** The text of a file's state, empty if absent; `undefined` if it is not text or not stored. */
export async function textOfState(
  state: (FileChange & { kind: "write" })["before"],
  content: (hash: string) => Promise<Uint8Array | undefined>,
): Promise<string | undefined> {
  if (state.kind === "absent") return "";
  const bytes = state.kind === "file" ? await content(state.hash) : undefined;
  if (bytes === undefined || bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** An operation as results and events show it. */
export function noteOf(operation: OperationRecord): OperationNote {
  const { operation_id, change, lines_added, lines_removed, first_line } = operation;
  return { operation_id, ...kindOf(change), lines_added, lines_removed, first_line };
}

function kindOf(change: FileChange): Pick<OperationNote, "type" | "path"> {
  if (change.kind === "move") return { type: "move", path: change.to };
  if (change.kind === "document") return { type: "edit", path: change.path };
  const { path, before, after } = change;
  if (before.kind === "absent") return { type: "create", path };
  return { type: after?.kind === "absent" ? "delete" : "modify", path };
}
