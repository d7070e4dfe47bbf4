import type { Operation } from "../api/shapes.ts";

/** What may still be taken back. */
export function undoable(operations: readonly Operation[]): Operation[] {
  return operations.filter(({ status, can_undo }) => status === "success" && can_undo);
}

/** What was changed by messages after one, and may be taken back; the newest first. */
export function operationsSince(
  operations: readonly Operation[],
  order: readonly string[],
  messageId: string,
): Operation[] {
  const found = undoable(operations);
  const at = found.length === 0 ? -1 : order.indexOf(messageId);
  if (at < 0) return [];
  const later = new Set(order.slice(at + 1));
  return found.filter(({ message_id }) => later.has(message_id));
}
