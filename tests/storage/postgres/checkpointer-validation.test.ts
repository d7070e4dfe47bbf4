import * as vitest from "vitest";
import { PostgresSaver } from "@millrace/engine/storage/postgres/checkpoints/checkpointer";
import { Threads } from "@millrace/engine/storage/postgres/checkpoints/threads";
import { PostgresDatabase } from "@millrace/engine/storage/postgres/database/database";
import { migrate } from "@millrace/engine/storage/postgres/migrations";
import { migrations } from "@millrace/engine/storage/postgres/migrations/index";
import { startPostgres } from "../../support/processes/postgres.ts";

// The suite takes the test functions from the global scope, where its own copy of vitest would put them.
Object.assign(globalThis, vitest);
const { validate, deltaChannelHistoryTests } = await import("@langchain/langgraph-checkpoint-validation");

const server = await startPostgres();
vitest.afterAll(() => server?.stop());

const open = new Map<object, PostgresDatabase>();
const initializer = {
  checkpointerName: "PostgresSaver",
  createCheckpointer: async () => {
    const database = new PostgresDatabase((await server?.create()) ?? "");
    await migrate(database, migrations);
    const saver = new PostgresSaver(new Threads(database));
    open.set(saver, database);
    return saver;
  },
  destroyCheckpointer: async (saver: object) => await open.get(saver)?.close(),
};

vitest.describe.skipIf(server === undefined)("the checkpointer in PostgreSQL", () => {
  validate(initializer);
  deltaChannelHistoryTests(initializer);
});
