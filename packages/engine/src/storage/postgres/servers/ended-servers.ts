import { readRows } from "../../rows.ts";
import type { PostgresDatabase } from "../database/database.ts";
import { ServerRow } from "./lease-statements.ts";
import { hasEnded } from "./place-of-process.ts";

/** The numbers of the servers of this process. */
export const ofProcess = new Set<number>();

/** Removes servers that are known to have ended: their leases need not run out. */
export async function removeEnded(database: PostgresDatabase): Promise<void> {
  const rows = readRows(ServerRow, "servers", await database.rows("SELECT id, host, process FROM servers"));
  const ended = rows.filter((row) => !ofProcess.has(row.id) && hasEnded(row)).map(({ id }) => id);
  if (ended.length > 0) await database.change("DELETE FROM servers WHERE id = ANY ($1::bigint[])", [ended]);
}
