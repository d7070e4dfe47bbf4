import { admitAnswers, answeredIds, bindAnswer, followInterrupts } from "@millrace/engine/storage/approvals";
import type { Approval, Grant, Run, Session } from "@millrace/engine/storage/records";
import type { ApprovalAnswer, ApprovalStore } from "@millrace/engine/storage/storage";

/** The questions of the storage in memory, by the same rules as the stored ones. */
export function createMemoryApprovals(isUnfinished: (runId: string) => boolean): {
  store: ApprovalStore;
  followSession(sessionId: string, interrupts: Session["interrupts"]): void;
  recordAnswers(run: Run, busy: boolean, answer?: ApprovalAnswer): Run;
} {
  const rows: Approval[] = [];
  const grants: Grant[] = [];
  const find = (sessionId: string, id: string): Approval | undefined =>
    rows.find((row) => row.session_id === sessionId && row.interrupt_id === id);
  const concerned = (sessionId: string, ids: readonly string[]): Approval[] =>
    rows.filter((row) => row.session_id === sessionId && (row.state === "pending" || ids.includes(row.interrupt_id)));
  const write = (changed: readonly Approval[]): void => {
    for (const row of changed) {
      const known = find(row.session_id, row.interrupt_id);
      if (known === undefined) rows.push(row);
      else Object.assign(known, row);
    }
  };
  return {
    store: {
      get: async (sessionId, id) => structuredClone(find(sessionId, id)),
      pending: async (sessionId) => structuredClone(concerned(sessionId, [])),
      askedBefore: async (before, { limit, offset }) => {
        const asked = rows.filter((row) => row.state === "pending" && row.asked_at < before);
        return structuredClone(asked.slice(offset, offset + limit));
      },
      grants: async (sessionId) => structuredClone(grants.filter((grant) => grant.session_id === sessionId)),
      revoke: async (sessionId, id) => {
        const index = grants.findIndex((grant) => grant.session_id === sessionId && grant.grant_id === id);
        if (index >= 0) grants.splice(index, 1);
        return index >= 0;
      },
    },
    followSession(session_id, interrupts) {
      const ids = Object.values(interrupts).flatMap((asked) => asked.map(({ id }) => id));
      const now = new Date().toISOString();
      write(followInterrupts(concerned(session_id, ids), { session_id, interrupts }, now, isUnfinished));
    },
    recordAnswers(run, busy, answer) {
      const now = new Date().toISOString();
      const known = structuredClone(concerned(run.session_id, answeredIds(run)));
      write(admitAnswers(known, run, { now, busy, answer }));
      if (answer?.grant !== undefined) {
        const { grant, interrupt_id } = answer;
        grants.push({ ...grant, session_id: run.session_id, interrupt_id, created_at: now });
      }
      return bindAnswer(known, run);
    },
  };
}
