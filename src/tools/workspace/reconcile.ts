import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { FileState } from "@millrace/engine/storage/records";
import type { Reconciled, ToolContext } from "../runtime/tool.ts";
import { identityOf, isSameState, snapshot } from "../undo/snapshot.ts";
import type { ToolResult } from "../runtime/result.ts";

/** The state before the call, if stored, and now. */
interface Seen {
  before: FileState | undefined;
  now: FileState;
}

/**
 * Whether a call that writes to `path` took effect: `isDone` recognizes its final state, `isBegun` a partial effect
 * that can be repeated. An unchanged state means it did not; anything else is someone else's change and unknown.
 */
export async function reconcileWrite(
  context: ToolContext,
  place: { path: string; lastLink: "follow" | "keep" },
  expected: { isDone: (seen: Seen) => boolean; isBegun?: (seen: Seen) => boolean; result: () => ToolResult },
): Promise<Reconciled> {
  const { begun } = context;
  const { state: now } = await snapshot(context, place.path, place.lastLink);
  const seen: Seen = { before: begun?.kind === "write" ? begun.before : undefined, now };
  if (expected.isDone(seen)) return { kind: "done", result: expected.result() };
  const isUntouched = seen.before !== undefined && isSameState(seen.before, now);
  return { kind: isUntouched || expected.isBegun?.(seen) === true ? "not_done" : "unknown" };
}

/** Whether a move took effect. The moved file is recognized by its identity, not its name. */
export async function reconcileMove(context: ToolContext, result: () => ToolResult): Promise<Reconciled> {
  const { begun } = context;
  if (begun?.kind !== "move" || begun.identity === null) return { kind: "unknown" };
  const [start, end] = [await identityOf(context, begun.from), await identityOf(context, begun.to)];
  // A file move creates the new name before it removes the old one.
  if (start === begun.identity) return { kind: "not_done" };
  return end === begun.identity && start === null ? { kind: "done", result: result() } : { kind: "unknown" };
}

/** Whether a state is a file with exactly this text. */
export function holdsText(state: FileState, text: string): boolean {
  return state.kind === "file" && state.hash === createHash("sha256").update(text).digest("hex");
}

/** Whether a folder is the rest of a partly deleted one: nothing in it is new or changed. */
export function isRestOf(now: FileState, before: FileState | undefined): boolean {
  if (now.kind !== "folder" || before?.kind !== "folder") return false;
  const known = new Map(before.entries.map(({ path, state }) => [path, state]));
  return now.entries.every(({ path, state }) => isDeepStrictEqual(known.get(path), state));
}
