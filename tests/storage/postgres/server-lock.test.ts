import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import type { Storage } from "@millrace/engine/storage/storage";
import { sessionRecord } from "../../contract/records.ts";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

describe.skipIf(server === undefined)("a database in PostgreSQL", () => {
  let url: string;
  const open: Storage[] = [];
  const start = async (): Promise<Storage> => {
    const storage = await createPostgresStorage(url);
    open.push(storage);
    return storage;
  };
  const query = (sql: string) => withClient(url, async (client) => (await client.query(sql)).rows);
  beforeEach(async () => {
    url = (await server?.create()) ?? "";
  });
  afterEach(async () => {
    for (const storage of open.splice(0)) await storage.close().catch(() => undefined);
  });

  it("serves one server at a time, and the next one when that has ended", async () => {
    const first = await start();
    await expect(start()).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining(`process ${process.pid} on ${hostname()}`),
      suggestion: expect.stringContaining("MILLRACE_DATABASE"),
    });
    await first.close();
    await start();
    expect(await query("SELECT count(*)::int AS count FROM server_lock")).toEqual([{ count: 1 }]);
  });

  it("is taken at once from a process of this machine that was killed", async () => {
    await start();
    const { pid } = spawnSync("true");
    await query(`UPDATE server_lock SET holder = 'killed', process = ${pid}, until = now() + interval '1 hour'`);
    await start();
    expect(await query("SELECT holder = 'killed' AS is_old FROM server_lock")).toEqual([{ is_old: false }]);
  });

  it("is taken from a machine that is silent, and not from one that still speaks", async () => {
    await start();
    const other = "holder = 'other', host = 'elsewhere 1'";
    await query(`UPDATE server_lock SET ${other}, until = now() + interval '1 second'`);
    await start();
    await query(`UPDATE server_lock SET ${other}, until = now() + interval '1 hour'`);
    const refused = start();
    // The other one's next beat.
    const beats = setInterval(() => void query("UPDATE server_lock SET until = until + interval '1 second'"), 50);
    await expect(refused).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("on elsewhere"),
    });
    clearInterval(beats);
  });

  it("that was taken over takes nothing more from the server that had it", async () => {
    const first = await start();
    await query("UPDATE server_lock SET holder = 'other'");
    await expect
      .poll(() => first.sessions.create(sessionRecord(crypto.randomUUID())).catch((error: unknown) => error))
      .toMatchObject({ code: "conflict", message: expect.stringContaining("taken over") });
  });
});
