import type { Operations } from "../../tools/undo/operations.ts";
import { type Access, requireAccess } from "@millrace/engine/sessions/scope/guard";
import type { ManualTools } from "../manual/manual-run.ts";

/** Tools limited to one caller; `user` is the `auth.path` user they work for. */
export function ownManual(manual: ManualTools, owner: string, access: Access, user: string | undefined): ManualTools {
  return {
    ...manual,
    list: (signal) => manual.list(signal, owner),
    async run(sessionId, call, signal) {
      await requireAccess(access.mayChange(sessionId), sessionId);
      return await manual.run(sessionId, { ...call, owner: user }, signal);
    },
    async preview(sessionId, call, signal) {
      await requireAccess(access.sees(sessionId), sessionId);
      return await manual.preview(sessionId, { ...call, owner: user }, signal);
    },
    async effectOf(sessionId, call, signal) {
      await requireAccess(access.sees(sessionId), sessionId);
      return await manual.effectOf(sessionId, { ...call, owner: user }, signal);
    },
  };
}

/** What tools have changed in the sessions that one caller sees; it is undone where the caller may change them. */
export function ownOperations(operations: Operations, { sees, mayChange }: Access): Operations {
  const seen = async <Result>(id: string, read: () => Promise<Result>): Promise<Result> => {
    await requireAccess(sees(id), id);
    return await read();
  };
  return {
    list: (id, query) => seen(id, () => operations.list(id, query)),
    diff: (id, operationId, limit, signal) => seen(id, () => operations.diff(id, operationId, limit, signal)),
    changes: (id, runId) => seen(id, () => operations.changes(id, runId)),
    net: (id, selection) => seen(id, () => operations.net(id, selection)),
    content: (id, operationId, place) => seen(id, () => operations.content(id, operationId, place)),
    entries: (id, operationId, side) => seen(id, () => operations.entries(id, operationId, side)),
    async undoMany(id, selection, options) {
      await requireAccess(options.dryRun ? sees(id) : mayChange(id), id);
      return await operations.undoMany(id, selection, options);
    },
    async write(change, signal) {
      const { sessionId: id } = change;
      if (id !== undefined) await requireAccess(mayChange(id), id);
      return await operations.write(change, signal);
    },
    async undoHunks(id, operationId, hunks, signal) {
      await requireAccess(mayChange(id), id);
      return await operations.undoHunks(id, operationId, hunks, signal);
    },
    async undo(id, operationId, signal) {
      await requireAccess(mayChange(id), id);
      return await operations.undo(id, operationId, signal);
    },
  };
}
