import { clusterDate } from "../../../concurrency/cluster-time.ts";
import { Namespace } from "../../records.ts";
import { readRow, readRows } from "../../rows.ts";
import type { NamespaceStore } from "../../storage.ts";
import type { Statements } from "../database/database.ts";

const select = `SELECT namespace, sessions.session_id, namespaces.updated_at FROM namespaces
  JOIN sessions ON sessions.id = namespaces.session WHERE namespaces.owner = $1`;

/** The current session of each namespace in PostgreSQL. */
export function createNamespaceStore(database: Statements): NamespaceStore {
  return {
    async get(owner, namespace) {
      const [row] = await database.read(`${select} AND namespace = $2`, [owner, namespace]);
      return readRow(Namespace, "namespaces", row);
    },

    list: async (owner) =>
      readRows(Namespace, "namespaces", await database.read(`${select} ORDER BY namespace`, [owner])),

    async set(owner, namespace, sessionId, former) {
      const sql = `INSERT INTO namespaces (owner, namespace, session, updated_at)
        SELECT $1, $2, id, $4 FROM sessions WHERE session_id = $3
        ON CONFLICT (owner, namespace) DO UPDATE SET session = excluded.session, updated_at = excluded.updated_at
          WHERE $5::boolean OR namespaces.session = (SELECT id FROM sessions WHERE session_id = $6)`;
      const values = [owner, namespace, sessionId, clusterDate(), former === undefined, former ?? null];
      return (await database.change(sql, values)) > 0;
    },
  };
}
