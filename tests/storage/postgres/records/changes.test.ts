import { afterAll, describe, expect, it } from "vitest";
import type { Change } from "@millrace/engine/storage/changes";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import type { Storage } from "@millrace/engine/storage/storage";
import { runRecord, sessionRecord } from "../../../contract/records.ts";
import { operation } from "../../../contract/runs/operations.ts";
import { startPostgres } from "../../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

/** The changes of a session from its creation to its end, without dates. */
async function changesOf(storage: Storage): Promise<unknown[]> {
  const reported: Change[] = [];
  await storage.watch(
    (changes) => void reported.push(...changes),
    () => undefined,
  );
  const of = { session_id: "s1", run_id: "r1", attempt: 1 };
  const asked = { task: [{ id: "a".repeat(32), value: "sure?" }] };
  await storage.sessions.create(sessionRecord("s1", { metadata: { topic: "t" } }));
  await storage.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
  const begun = await storage.attempt(of).operations.begin(operation("o1"), new Map());
  await storage.attempt(of).operations.settle("o1", { ...begun, status: "success" }, new Map());
  const end = { status: "success", session_status: "interrupted", interrupts: asked } as const;
  await storage.attempt(of).finish(end);
  await storage.runs.admit(runRecord("r2", "s1"));
  await storage.runs.claim("s1");
  await storage.runs.reclaim("r2");
  await storage.runs.delete("r2");
  await storage.sessions.update("s1", { metadata: { topic: "u" } });
  await storage.runs.deleteOfAssistant("agent");
  await storage.sessions.delete("s1");
  await storage.close();
  const text = JSON.stringify(reported, (key, value: unknown) => (key.endsWith("_at") ? typeof value : value));
  return JSON.parse(text) as unknown[]; // the reported changes
}

describe.skipIf(server === undefined)("the changes that PostgreSQL reports", () => {
  it("are those of SQLite, in the same order", async () => {
    const expected = await changesOf(createSqliteStorage(":memory:"));
    expect(expected.length).toBeGreaterThan(15);
    expect(await changesOf(await createPostgresStorage((await server?.create()) ?? ""))).toEqual(expected);
  });
});
