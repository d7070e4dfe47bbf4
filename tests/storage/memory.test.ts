import { createMemoryLedger, createMemoryTasks } from "../../src/storage/memory.ts";
import { describeLedger } from "../contract/ledger.ts";
import { describeTasks } from "../contract/tasks.ts";

describeLedger("the ledger in memory", async () => createMemoryLedger());
describeTasks("the tasks in memory", () => createMemoryTasks());
