import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { currentConfig } from "@millrace/engine/config/config";
import { AppError } from "@millrace/engine/errors/errors";
import { addMove, address } from "./move.ts";

/** The maintenance of the database, by command. */

const units: Record<string, number> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** Milliseconds of `12h`, `30d` or `8w`. */
function duration(text: string): number {
  const [, amount, unit] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const length = units[unit ?? ""];
  if (amount === undefined || length === undefined)
    throw new InvalidArgumentError("Expected a number of hours, days or weeks, such as 30d.");
  return Number(amount) * length;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

function summary({ sessions, runs, bytes }: { sessions: number; runs: number; bytes: number }): string {
  return `${sessions} session(s), ${runs} run(s), ${megabytes(bytes)}`;
}

/** Loaded when the command is known to be right: a mistake is answered at once. */
async function maintenance() {
  return await import("@millrace/engine/storage/sqlite/database/maintenance");
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Adds `backup`, `restore`, `prune`, `verify` and `move`. `defaults` are the variables of the served folder, read when a command runs. */
export function addMaintenance(millrace: Command, defaults: (config?: string) => Record<string, string>): void {
  const file = (config?: string): string => {
    const { dataDir, conversations } = currentConfig(defaults(config));
    return join(conversations.folder ?? dataDir, "millrace.db");
  };
  /** The file of a command that is for SQLite alone. */
  const database = (config?: string): string => {
    if (currentConfig(defaults(config)).database === undefined) return file(config);
    throw new AppError("config", "The database is in PostgreSQL, by MILLRACE_DATABASE; this command is for SQLite.", {
      suggestion: "Use pg_dump and pg_restore for copies, and POST /threads/prune of the running server.",
    });
  };
  const command = (name: string, description: string): Command =>
    millrace
      .command(name)
      .description(description)
      .option("-c, --config <file>", "which langgraph.json, or the folder it is in (default: the working folder's)");
  command("backup <file>", "copies the database, while the server runs or not").action(
    async (target: string, { config }: { config?: string }) => {
      const place = resolve(target);
      const { backupDatabase } = await maintenance();
      say(`Saved ${summary(await backupDatabase(database(config), place))} to ${place}.`);
    },
  );
  command("restore <file>", "puts a backup in its place; the server has to be stopped").action(
    async (target: string, { config }: { config?: string }) => {
      const place = resolve(target);
      const { restoreDatabase } = await maintenance();
      const { report, kept } = await restoreDatabase(place, database(config));
      say(`Restored ${summary(report)}.${kept === undefined ? "" : ` What was there before is ${kept}.`}`);
    },
  );
  command("prune", "removes old states and keeps every conversation; the server has to be stopped")
    .requiredOption("--older-than <time>", "of sessions untouched for so long: 12h, 30d, 8w", duration)
    .option("--delete", "removes these sessions instead")
    .action(async (options: { olderThan: number; delete?: true; config?: string }) => {
      const before = new Date(Date.now() - options.olderThan);
      const strategy = options.delete === true ? "delete" : "keep_latest";
      const { pruneDatabase } = await maintenance();
      const { pruned, bytesBefore, bytesAfter } = await pruneDatabase(database(options.config), { before, strategy });
      say(`Pruned ${pruned} session(s): ${megabytes(bytesBefore)} before, ${megabytes(bytesAfter)} now.`);
    });
  addMove(millrace, file);
  command("verify", "looks through the whole database")
    .option(
      "--database <address>",
      "of PostgreSQL (default: MILLRACE_DATABASE, else the folder's millrace.db)",
      address,
    )
    .action(async ({ config, database: given }: { config?: string; database?: string }) => {
      const url = given ?? currentConfig(defaults(config)).database;
      const { place, ...report } = await check(url, () => file(config));
      if (report.problems.length > 0) {
        throw new AppError("storage_corrupt", `${place} is damaged:\n${report.problems.join("\n")}`, {
          suggestion:
            url === undefined ? "Restore it from a backup: millrace restore <file>." : "Restore it from a backup.",
        });
      }
      say(`${place} is sound: ${summary(report)}.`);
    });
}

/** Looks through the database of an address, or the one in SQLite. */
async function check(url: string | undefined, path: () => string) {
  if (url === undefined) {
    const { checkWhole } = await maintenance();
    return { place: path(), ...checkWhole(path()) };
  }
  const { checkPostgres } = await import("@millrace/engine/storage/postgres/database/check-database");
  return await checkPostgres(url);
}
