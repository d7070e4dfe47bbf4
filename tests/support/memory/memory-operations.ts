import type { OperationRecord } from "@millrace/engine/storage/records";
import type { OperationStore } from "@millrace/engine/storage/storage";

/** Operations in memory, with the rules of the stored ones; values are copied in and out. */
export function createMemoryOperations(): OperationStore {
  const rows: OperationRecord[] = [];
  const contents = new Map<string, Map<string, Uint8Array>>();
  return {
    async begin(operation, bytes) {
      const known = rows.find(
        (row) => row.session_id === operation.session_id && row.tool_call_id === operation.tool_call_id,
      );
      if (known !== undefined) return structuredClone(known);
      rows.push(structuredClone(operation));
      contents.set(operation.operation_id, new Map(bytes));
      return structuredClone(operation);
    },
    async settle(operationId, end, bytes) {
      const row = rows.find((candidate) => candidate.operation_id === operationId);
      if (row === undefined) return;
      Object.assign(row, structuredClone(end), { updated_at: new Date().toISOString() });
      if (!end.is_kept) contents.delete(operationId);
      else contents.set(operationId, new Map([...(contents.get(operationId) ?? []), ...bytes]));
    },
    async get(sessionId, operationId) {
      return structuredClone(rows.find((row) => row.session_id === sessionId && row.operation_id === operationId));
    },
    async ofCall(sessionId, toolCallId) {
      return structuredClone(rows.find((row) => row.session_id === sessionId && row.tool_call_id === toolCallId));
    },
    async list(sessionId, { limit, offset, run_id, message_id }) {
      const matching = rows
        .filter((row) => row.session_id === sessionId)
        .filter((row) => run_id === undefined || row.run_id === run_id)
        .filter((row) => message_id === undefined || row.message_id === message_id)
        .toReversed();
      return { operations: structuredClone(matching.slice(offset, offset + limit)), total: matching.length };
    },
    content: async (operationId, hash) => contents.get(operationId)?.get(hash),
  };
}
