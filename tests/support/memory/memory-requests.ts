import { callsKept, type ModelRequest, type ModelRequestStore } from "@millrace/engine/storage/record-stores";

/** The requests in memory. */
export function createMemoryRequests(exists: (sessionId: string) => boolean): ModelRequestStore {
  let rows: (ModelRequest & { number: number })[] = [];
  const ofSession = (id: string): typeof rows =>
    rows.filter(({ session_id }) => session_id === id && exists(session_id));
  const plain = ({ number: _number, ...request }: ModelRequest & { number: number }): ModelRequest => request;
  return {
    async note(request) {
      const { session_id, run_id } = request;
      if (!exists(session_id)) return;
      const own = ofSession(session_id).filter((row) => row.run_id === run_id);
      rows.push({ ...request, number: (own.at(-1)?.number ?? 0) + 1 });
      const isLast = (row: ModelRequest): boolean =>
        ofSession(session_id).findLast(({ node }) => node === row.node) === row;
      const ofRun = ofSession(session_id).filter((row) => row.run_id === run_id);
      const old = [ofRun.at(-1 - callsKept.ofRun), ofSession(session_id).at(-1 - callsKept.ofSession)];
      rows = rows.filter((row) => !old.includes(row) || isLast(row));
    },
    async last(sessionId, node) {
      const found = ofSession(sessionId).findLast((one) => (node === undefined ? !one.is_silent : one.node === node));
      return found && plain(found);
    },
    async calls(sessionId, runId) {
      return ofSession(sessionId)
        .filter(({ run_id }) => run_id === runId)
        .map(({ number, run_id, node, is_silent, asked_at }) => ({ number, run_id, node, is_silent, asked_at }))
        .toReversed();
    },
    async call(sessionId, runId, number) {
      const own = ofSession(sessionId);
      const at = own.findIndex((row) => row.run_id === runId && row.number === number);
      const found = own[at];
      if (found === undefined) return undefined;
      const before = own.slice(0, at).findLast(({ node }) => node === found.node);
      return { request: plain(found), before: before && { run_id: before.run_id, number: before.number } };
    },
  };
}
