import { z } from "zod";
import { damagedRows } from "../../move/move.ts";
import { keyOf, type MovedRow, readLayouts } from "../../move/tables.ts";
import { parseRow } from "../../rows.ts";
import { requireSchema } from "../migrations.ts";
import { migrations } from "../migrations/index.ts";
import { describeTables, sourceOf, withDatabase } from "./move-database.ts";

/** What a look through a whole database found. */
export interface PostgresReport {
  /** `host:port/name`. */
  place: string;
  sessions: number;
  runs: number;
  bytes: number;
  /** What is wrong, a line each; empty for a sound database. */
  problems: string[];
}

const SizeRow = z.object({ bytes: z.number() });

/**
 * Looks through a whole database: every row of every table and every checksum. It may be in use. Throws `not_found` for a
 * database without tables of ours, `conflict` for one that a move has not filled to the end, and what reading it throws.
 */
export async function checkPostgres(url: string): Promise<PostgresReport> {
  return await withDatabase(url, async (database) => {
    await requireSchema(database, migrations);
    const source = sourceOf(database, database.place);
    const problems: string[] = [];
    const rows = new Map<string, number>();
    for (const layout of readLayouts(await describeTables(database))) {
      let [found, damaged] = [0, 0];
      let after: MovedRow | undefined;
      do {
        const batch = await source.read(layout, after);
        found += batch.length;
        damaged += damagedRows(layout, batch).length;
        const last = batch.at(-1);
        after = last && keyOf(layout, last);
      } while (after !== undefined);
      rows.set(layout.name, found);
      if (damaged > 0) problems.push(`${damaged} row(s) of ${layout.name} are not what was written`);
    }
    const [size] = await database.rows("SELECT pg_database_size(current_database()) AS bytes");
    const { bytes } = parseRow(SizeRow, "pg_database", size);
    return { place: database.place, sessions: rows.get("sessions") ?? 0, runs: rows.get("runs") ?? 0, bytes, problems };
  });
}
