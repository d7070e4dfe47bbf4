import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { writeHistory } from "./history.ts";

// Fills a database and closes it properly, or is killed with an open WAL.
const [path = "", end = "", turns = ""] = process.argv.slice(2);
const storage = createSqliteStorage(path);
await writeHistory(storage, Number(turns));
if (end === "kill") process.kill(process.pid, "SIGKILL");
await storage.close();
