import "./resolve-once.cjs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { currentConfig } from "@millrace/engine/config/config";
import { AppError, explain, isAppError } from "@millrace/engine/errors/errors";

/** The maintenance of the database, by command: `npm run backup`, `restore`, `prune` and `verify`. */

const usage = `npm run backup -- <file>                          copies the database, while the server runs or not
npm run restore -- <file>                         puts a backup in its place; the server has to be stopped
npm run prune -- --older-than 30d [--delete]      removes old states of sessions nobody touched for so long, or with
                                                  --delete the sessions; the server has to be stopped
npm run verify                                    looks through the whole database`;

const units: Record<string, number> = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

function wrong(message: string): AppError {
  return new AppError("invalid_parameter", message, { suggestion: `Usage:\n${usage}` });
}

/** Milliseconds of `12h`, `30d` or `8w`. */
function duration(text: string | undefined): number {
  const [, amount, unit] = /^(\d{1,6})([hdw])$/.exec(text ?? "") ?? [];
  const length = units[unit ?? ""];
  if (amount === undefined || length === undefined) {
    throw wrong(`--older-than wants a number of hours, days or weeks such as 30d, got "${text ?? ""}".`);
  }
  return Number(amount) * length;
}

function fileOf(positionals: string[]): string {
  const [file, ...others] = positionals;
  if (file === undefined || others.length > 0) throw wrong(`Expected one file, got ${positionals.length}.`);
  return resolve(file);
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

async function perform(): Promise<string> {
  const options = { "older-than": { type: "string" }, delete: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const [command, ...rest] = positionals;
  const { dataDir, conversations } = currentConfig();
  const path = join(conversations.folder ?? dataDir, "millrace.db");
  switch (command) {
    case "backup": {
      const file = fileOf(rest);
      const { backupDatabase } = await maintenance();
      return `Saved ${summary(await backupDatabase(path, file))} to ${file}.`;
    }
    case "restore": {
      const file = fileOf(rest);
      const { restoreDatabase } = await maintenance();
      const { report, kept } = await restoreDatabase(file, path);
      return `Restored ${summary(report)}.${kept === undefined ? "" : ` What was there before is ${kept}.`}`;
    }
    case "prune": {
      const before = new Date(Date.now() - duration(values["older-than"]));
      const strategy = values.delete ? "delete" : "keep_latest";
      const { pruneDatabase } = await maintenance();
      const { pruned, bytesBefore, bytesAfter } = await pruneDatabase(path, { before, strategy });
      return `Pruned ${pruned} session(s): ${megabytes(bytesBefore)} before, ${megabytes(bytesAfter)} now.`;
    }
    case "verify": {
      const { checkWhole } = await maintenance();
      const report = checkWhole(path);
      if (report.problems.length === 0) return `${path} is sound: ${summary(report)}.`;
      throw new AppError("storage_corrupt", `${path} is damaged:\n${report.problems.join("\n")}`, {
        suggestion: "Restore it from a backup: npm run restore -- <file>.",
      });
    }
    default:
      throw wrong(`There is no command "${command ?? ""}".`);
  }
}

try {
  process.stdout.write(`${await perform()}\n`);
} catch (error) {
  // A wrong option is parseArgs' TypeError, whose message says which.
  const text = isAppError(error) ? explain(error) : error instanceof Error ? error.message : String(error);
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
