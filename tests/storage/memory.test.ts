import { createMemoryLedger, createMemoryTasks } from "@millrace/engine/storage/memory";
import { describeLedger } from "../contract/runs/ledger.ts";
import { describeTasks } from "../contract/tasks.ts";

describeLedger("the ledger in memory", async () => createMemoryLedger());
describeTasks("the tasks in memory", () => createMemoryTasks());
