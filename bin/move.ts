import { type Command, InvalidArgumentError } from "commander";
import { AppError } from "@millrace/engine/errors/errors";
import type { MoveProgress, MoveSource, MoveTarget } from "@millrace/engine/storage/move/move";
import type { PostgresColumn } from "@millrace/engine/storage/move/tables";

/** A URL of PostgreSQL; other mistakes in it are reported on use. */
export function address(text: string): string {
  if (/^postgres(?:ql)?:\/\//u.test(text)) return text;
  throw new InvalidArgumentError("Expected the address of a database: postgres://user:password@host:5432/name.");
}

/** Source and target of a move: to PostgreSQL, or back. */
interface Way {
  path: string;
  to?: string;
  from?: string;
}

/** Reports the progress of a move: in one line on a terminal, else a line per finished table. */
class ProgressLine {
  readonly #isTerminal = process.stderr.isTTY;
  #reportedAt = 0;

  readonly onProgress = ({ step, table, rows, total }: MoveProgress): void => {
    const isDone = rows >= total;
    if (!isDone && (!this.#isTerminal || performance.now() - this.#reportedAt < 100)) return;
    this.#reportedAt = performance.now();
    const share = total === 0 ? "" : ` (${Math.floor((Math.min(rows, total) / total) * 100)} %)`;
    this.#write(`${step} ${table}: ${rows} of ${total} rows${share}`, isDone);
  };

  readonly onRestart = (): void => {
    this.#write("What a former move has left is not what there is now: it begins anew.", true);
  };

  #write(line: string, isDone: boolean): void {
    process.stderr.write(this.#isTerminal ? `\r\u001b[K${line}${isDone ? "\n" : ""}` : `${line}\n`);
  }
}

/** Moves a database; returns the number of rows. */
async function move({ path, to, from }: Way): Promise<number> {
  const [{ moveRows }, { layoutsOf }, sqlite, postgres] = await Promise.all([
    import("@millrace/engine/storage/move/move"),
    import("@millrace/engine/storage/move/tables"),
    import("@millrace/engine/storage/sqlite/database/move-database"),
    import("@millrace/engine/storage/postgres/database/move-database"),
  ]);
  const progress = new ProgressLine();
  const options = {
    onProgress: progress.onProgress,
    onRestart: progress.onRestart,
    signal: new AbortController().signal,
  };
  const between = (
    tables: {
      sqlite: ReadonlyMap<string, readonly string[]>;
      postgres: ReadonlyMap<string, readonly PostgresColumn[]>;
    },
    source: MoveSource,
    target: MoveTarget,
  ): Promise<number> => moveRows(source, target, layoutsOf(tables.sqlite, tables.postgres), options);
  if (to !== undefined) {
    return await sqlite.moveFromSqlite(path, (source) =>
      postgres.moveToPostgres(to, (target) =>
        between({ sqlite: source.tables, postgres: target.tables }, source.side, target.side),
      ),
    );
  }
  return await postgres.moveFromPostgres(from ?? "", (source) =>
    sqlite.moveToSqlite(path, (target) =>
      between({ sqlite: target.tables, postgres: source.tables }, source.side, target.side),
    ),
  );
}

/** Adds `move` to the commands. `database` is the path of the SQLite database of the served folder. */
export function addMove(millrace: Command, database: (config?: string) => Promise<string>): void {
  millrace
    .command("move")
    .description("moves the database to PostgreSQL or back, with everything in it; both servers have to be stopped")
    .option("-c, --config <file>", "which langgraph.json, or the folder it is in (default: the working folder's)")
    .option("--to <address>", "the PostgreSQL database it goes to, which has to be empty", address)
    .option("--from <address>", "the PostgreSQL database it comes back from", address)
    .action(async ({ config, to, from }: { config?: string; to?: string; from?: string }) => {
      if ((to === undefined) === (from === undefined)) {
        throw new AppError("invalid_parameter", "A move goes to PostgreSQL or comes from it.", {
          suggestion: "Give one of --to and --from: millrace move --to postgres://user:password@host:5432/name.",
        });
      }
      const path = await database(config);
      const rows = await move({ path, ...(to !== undefined && { to }), ...(from !== undefined && { from }) });
      const next =
        to === undefined
          ? `Unset MILLRACE_DATABASE to use ${path}.`
          : `Set MILLRACE_DATABASE to that address to use it. ${path} stays as it is.`;
      process.stdout.write(`Moved ${rows} rows, each compared with what there was. ${next}\n`);
    });
}
