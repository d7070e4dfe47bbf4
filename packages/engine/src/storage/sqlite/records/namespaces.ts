import { Namespace } from "../../records.ts";
import type { NamespaceStore } from "../../storage.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import { readRow, readRows } from "../database/rows.ts";

const select = `SELECT namespace, sessions.session_id, namespaces.updated_at FROM namespaces
  JOIN sessions ON sessions.id = namespaces.session`;

/** The current session of each namespace in SQLite. */
export function createNamespaceStore(database: Database, commits: GroupCommit): NamespaceStore {
  return {
    get: async (owner, namespace) =>
      database.read(() =>
        readRow(
          Namespace,
          "namespaces",
          database.prepare(`${select} WHERE namespaces.owner = ? AND namespace = ?`).get(owner, namespace),
        ),
      ),

    list: async (owner) =>
      database.read(() =>
        readRows(
          Namespace,
          "namespaces",
          database.prepare(`${select} WHERE namespaces.owner = ? ORDER BY namespace`).all(owner),
        ),
      ),

    set: (owner, namespace, session_id) =>
      commits.transaction(() => {
        const { changes } = database
          .prepare(
            `INSERT INTO namespaces (owner, namespace, session, updated_at)
             SELECT @owner, @namespace, id, @updated_at FROM sessions WHERE session_id = @session_id
             ON CONFLICT (owner, namespace) DO UPDATE SET session = excluded.session, updated_at = excluded.updated_at`,
          )
          .run({ owner, namespace, session_id, updated_at: new Date().toISOString() });
        return changes > 0;
      }),
  };
}
