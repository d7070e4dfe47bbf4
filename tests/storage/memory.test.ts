import { createMemoryLedger, createMemoryTasks } from "@millrace/engine/storage/memory";
import { describeLedger } from "../contract/runs/ledger.ts";
import { describeOperations } from "../contract/runs/operations.ts";
import { describeTasks } from "../contract/tasks.ts";
import { createMemoryOperations } from "../support/memory/memory-operations.ts";

describeLedger("the ledger in memory", async () => createMemoryLedger());
describeTasks("the tasks in memory", () => createMemoryTasks());
describeOperations("the operations of the test storage", async () => createMemoryOperations());
