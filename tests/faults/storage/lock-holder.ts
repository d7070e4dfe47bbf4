import { setTimeout as delay } from "node:timers/promises";
import BetterSqlite3 from "better-sqlite3";

// Another program that holds the write lock of a database for some milliseconds, and says when it has it.
const [path = "", milliseconds = ""] = process.argv.slice(2);
const database = new BetterSqlite3(path, { timeout: 5000 });
database.exec("BEGIN IMMEDIATE");
process.stdout.write("held\n");
await delay(Number(milliseconds));
database.exec("COMMIT");
database.close();
