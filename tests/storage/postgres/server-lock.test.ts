import { spawnSync } from "node:child_process";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { thisProcess } from "@millrace/engine/storage/postgres/servers/process-identity";
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

  it("has one lock for all its servers, which the last one releases", async () => {
    const [first, second] = [await start(), await start()];
    const locks = "SELECT holder, until > now() AS is_held FROM server_lock";
    expect(await query(locks)).toEqual([{ holder: "servers", is_held: true }]);
    await first.close();
    expect(await query(locks)).toHaveLength(1);
    await second.close();
    expect(await query(locks)).toEqual([]);
  });

  it("is taken over at once from a killed process of this machine", async () => {
    await (await start()).close();
    const { pid } = spawnSync("true");
    await query(`INSERT INTO server_lock (holder, host, process, until)
      VALUES ('killed', '${thisProcess().host}', ${pid}, now() + interval '1 hour')`);
    await start();
    expect(await query("SELECT holder = 'killed' AS is_old FROM server_lock")).toEqual([{ is_old: false }]);
  });

  it("is taken over from another machine whose heartbeats have stopped, and not while they go on", async () => {
    await (await start()).close();
    const former = (until: string) =>
      query(
        `INSERT INTO server_lock (holder, host, process, until) VALUES ('other', 'elsewhere 1', 1, now() + interval '${until}')`,
      );
    await former("1 second");
    await (await start()).close();
    await former("1 hour");
    const refused = start();
    // The heartbeats of the other server.
    let isOver = false;
    const beating = (async () => {
      while (!isOver) await query("UPDATE server_lock SET until = until + interval '1 second'");
    })();
    try {
      await expect(refused).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringContaining("on elsewhere"),
      });
    } finally {
      isOver = true;
      await beating;
    }
  });

  it("that was taken over refuses the writes of the server that had it", async () => {
    const first = await start();
    await query("UPDATE server_lock SET holder = 'other'");
    await expect
      .poll(() => first.sessions.create(sessionRecord(crypto.randomUUID())).catch((error: unknown) => error))
      .toMatchObject({ code: "conflict", message: expect.stringContaining("taken over") });
  });
});
