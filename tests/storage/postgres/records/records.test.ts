import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { PostgresDatabase } from "@millrace/engine/storage/postgres/database/database";
import { migrate } from "@millrace/engine/storage/postgres/migrations";
import { migrations } from "@millrace/engine/storage/postgres/migrations/index";
import { createLedger } from "@millrace/engine/storage/postgres/run-records/ledger";
import { createNamespaceStore } from "@millrace/engine/storage/postgres/records/namespaces";
import { createTaskStore } from "@millrace/engine/storage/postgres/records/tasks";
import { describeLedger } from "../../../contract/runs/ledger.ts";
import { describeTasks } from "../../../contract/tasks.ts";
import { startPostgres } from "../../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

describe.skipIf(server === undefined)("PostgreSQL", () => {
  let url: string;
  let database: PostgresDatabase;
  beforeEach(async () => {
    url = (await server?.create()) ?? "";
    database = new PostgresDatabase(url);
    await migrate(database, migrations);
  });
  afterEach(() => database.close());

  const addSession = (id: string) =>
    database.change(
      `INSERT INTO sessions (session_id, status, metadata, config, interrupts, created_at, updated_at)
       VALUES ($1, 'idle', '{}', '{}', '{}', $2, $2)`,
      [id, new Date().toISOString()],
    );

  describeTasks("tasks", () => createTaskStore(database));

  describeLedger("ledger", async (sessionIds) => {
    for (const id of sessionIds) await addSession(id);
    return createLedger(database);
  });

  it("stores every character of a title, also those that PostgreSQL cannot store in a text", async () => {
    const tasks = createTaskStore(database);
    const title = "a\0b \ud800 \u{1f600} \\u0000";
    const at = new Date().toISOString();
    const empty = {
      owner: null,
      session_id: null,
      completed: false,
      area_id: null,
      scheduled_dates: [],
      created_at: at,
      updated_at: at,
    };
    await tasks.create({ ...empty, task_id: "t1", title });
    expect((await tasks.get("t1"))?.title).toBe(title);
    const refused = tasks.create({ ...empty, task_id: "t\0", title });
    await expect(refused).rejects.toMatchObject({ code: "invalid_parameter" });
  });

  it("has one current session for each namespace, by owner, and none when it was deleted", async () => {
    for (const id of ["s1", "s2"]) await addSession(id);
    const namespaces = createNamespaceStore(database);
    expect(await namespaces.get("ada", "work")).toBeUndefined();
    for (const id of ["s1", "s2"]) expect(await namespaces.set("ada", "work", id)).toBe(true);
    expect(await namespaces.set("ada", "Home", "s1")).toBe(true);
    expect(await namespaces.set("bob", "work", "s1")).toBe(true);
    expect(await namespaces.set("bob", "work", "unknown")).toBe(false);
    expect(await namespaces.get("bob", "work")).toMatchObject({ namespace: "work", session_id: "s1" });
    const list = (await namespaces.list("ada")).map(({ namespace, session_id }) => [namespace, session_id]);
    expect(list).toEqual([
      ["Home", "s1"],
      ["work", "s2"],
    ]);
    await database.change("DELETE FROM sessions WHERE session_id = 's2'");
    expect(await namespaces.get("ada", "work")).toBeUndefined();
  });
});
