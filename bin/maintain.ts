import { join, resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { type Config, currentConfig } from "@millrace/engine/config/config";
import { AppError } from "@millrace/engine/errors/errors";
import { addMove, address } from "./move.ts";

/** Database maintenance commands. */

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

/** Loaded after validation, so that mistakes are reported at once. */
async function maintenance() {
  return await import("@millrace/engine/storage/sqlite/database/maintenance");
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Alternatives to commands that do not support PostgreSQL. */
const instead: Readonly<Record<string, string>> = {
  backup: 'Copy it by PostgreSQL\'s own program: pg_dump --format=custom --file=<file> "$MILLRACE_DATABASE".',
  restore:
    "Restore what pg_dump has made into a new database (createdb, pg_restore --no-owner --dbname=<address> <file>), and name that in MILLRACE_DATABASE.",
  prune: 'Send POST /threads/prune to the running server: {"thread_ids": ["…"], "strategy": "keep_latest"}.',
};

/**
 * Adds `backup`, `restore`, `prune`, `verify` and `move`. `defaults` changes to the served folder when a command runs,
 * and returns its variables.
 */
export function addMaintenance(
  millrace: Command,
  defaults: (config?: string) => Promise<Record<string, string>>,
): void {
  let read: Promise<Config> | undefined;
  const settings = (config?: string): Promise<Config> => (read ??= defaults(config).then(currentConfig));
  const file = async (config?: string): Promise<string> => {
    const { dataDir, conversations } = await settings(config);
    return join(conversations.folder ?? dataDir, "millrace.db");
  };
  /** The database file of a command for SQLite only. */
  const database = async (name: string, config?: string): Promise<string> => {
    if ((await settings(config)).database === undefined) return await file(config);
    throw new AppError(
      "config",
      `millrace ${name} is for SQLite, and MILLRACE_DATABASE names a database in PostgreSQL.`,
      {
        suggestion: instead[name],
      },
    );
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
      say(`Saved ${summary(await backupDatabase(await database("backup", config), place))} to ${place}.`);
    },
  );
  command("restore <file>", "puts a backup in the place of the database; the server has to be stopped").action(
    async (target: string, { config }: { config?: string }) => {
      const place = resolve(target);
      const { restoreDatabase } = await maintenance();
      const { report, kept } = await restoreDatabase(place, await database("restore", config));
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
      const { pruned, bytesBefore, bytesAfter } = await pruneDatabase(await database("prune", options.config), {
        before,
        strategy,
      });
      say(`Pruned ${pruned} session(s): ${megabytes(bytesBefore)} before, ${megabytes(bytesAfter)} now.`);
    });
  addMove(millrace, file);
  addVerify(
    command("verify", "looks through the whole database for damage, while the server runs or not"),
    settings,
    file,
  );
}

/** Adds `verify`. */
function addVerify(
  command: Command,
  settings: (config?: string) => Promise<Config>,
  file: (config?: string) => Promise<string>,
): void {
  command
    .option(
      "--database <address>",
      "of PostgreSQL (default: MILLRACE_DATABASE, else the folder's millrace.db)",
      address,
    )
    .action(async ({ config, database: given }: { config?: string; database?: string }) => {
      const url = given ?? (await settings(config)).database;
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

/** Verifies the database at a URL, or the one in SQLite. */
async function check(url: string | undefined, path: () => Promise<string>) {
  if (url === undefined) {
    const { checkWhole } = await maintenance();
    const place = await path();
    return { place, ...checkWhole(place) };
  }
  const { checkPostgres } = await import("@millrace/engine/storage/postgres/database/check-database");
  return await checkPostgres(url);
}
