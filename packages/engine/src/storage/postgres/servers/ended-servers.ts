import { readRows } from "../../rows.ts";
import type { PostgresDatabase } from "../database/database.ts";
import { deleteServer, releaseRunsAndDeleteServer, ServerRow } from "./lease-statements.ts";
import { hasProcessEnded } from "./process-identity.ts";

/** The ids of the servers in this process. */
export const serversOfProcess = new Set<number>();

/** Removes servers whose process has ended, without waiting for their leases to expire. */
export async function removeEndedServers(database: PostgresDatabase): Promise<void> {
  const rows = readRows(ServerRow, "servers", await database.rows("SELECT id, host, process FROM servers"));
  const ended = rows.filter((row) => !serversOfProcess.has(row.id) && hasProcessEnded(row)).map(({ id }) => id);
  if (ended.length > 0) await database.change("DELETE FROM servers WHERE id = ANY ($1::bigint[])", [ended]);
}

/** Removes a server of this process. Its running runs count as crashed, unless `releasesRuns` and no other server has removed it. */
export async function removeServer(
  database: PostgresDatabase,
  id: number,
  { releasesRuns = false } = {},
): Promise<void> {
  serversOfProcess.delete(id);
  await database.change(releasesRuns ? releaseRunsAndDeleteServer : deleteServer, [id]);
}
