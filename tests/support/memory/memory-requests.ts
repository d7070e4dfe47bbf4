import type { ModelRequest, ModelRequestStore } from "@millrace/engine/storage/record-stores";

/** The last requests in memory. */
export function createMemoryRequests(exists: (sessionId: string) => boolean): ModelRequestStore {
  const rows = new Map<string, ModelRequest>();
  return {
    async note(request) {
      if (!exists(request.session_id)) return;
      const key = JSON.stringify([request.session_id, request.node]);
      rows.delete(key);
      rows.set(key, request);
    },
    async last(sessionId, node) {
      const own = [...rows.values()].filter(({ session_id }) => session_id === sessionId && exists(session_id));
      return own.findLast((request) => (node === undefined ? !request.is_silent : request.node === node));
    },
  };
}
