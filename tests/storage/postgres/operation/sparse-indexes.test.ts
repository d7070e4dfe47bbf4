import { readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { afterAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { rebuiltTables } from "@millrace/engine/storage/postgres/database/sparse-indexes";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { startPostgres, withClient } from "../../../support/processes/postgres.ts";
import { filesBelow, projectFolder } from "../../../support/source-files.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

const sparse = "public.checkpoint_rows_namespace_id_key";
const never = new AbortController().signal;
const Bytes = z.tuple([z.object({ bytes: z.number() })]);
const Names = z.array(z.object({ name: z.string() }));

interface Parts {
  storage: Awaited<ReturnType<typeof createPostgresStorage>>;
  client: pg.Client;
  url: string;
}

/** A storage whose thread has 100,000 states, of which two of three were deleted, and a client of its database. */
async function withSparse(work: (parts: Parts) => Promise<void>): Promise<void> {
  const url = (await server?.create()) ?? "";
  const storage = await createPostgresStorage(url);
  try {
    await withClient(url, async (client) => {
      await client.query("INSERT INTO checkpoint_threads (key, thread_id) VALUES (1, 'of many states')");
      await client.query("INSERT INTO checkpoint_namespaces (key, thread, ns) VALUES (2, 1, '')");
      await client.query(`INSERT INTO checkpoint_rows (key, namespace, id)
        SELECT n, 2, '00000000-0000-0000-0000-' || lpad(n::text, 12, '0') FROM generate_series(1, 100000) AS n`);
      await client.query("DELETE FROM checkpoint_rows WHERE key % 3 <> 0");
      await client.query("VACUUM ANALYZE checkpoint_rows");
      await work({ storage, client, url });
    });
  } finally {
    await storage.close();
  }
}

async function bytesOf(client: pg.Client, index: string): Promise<number> {
  const { rows } = await client.query("SELECT pg_relation_size($1::regclass)::float8 AS bytes", [index]);
  return Bytes.parse(rows)[0].bytes;
}

/** What is built at the moment, and the indexes that are not valid. */
async function inProgress(client: pg.Client): Promise<{ commands: string[]; invalid: string[] }> {
  const building = await client.query(
    "SELECT command AS name FROM pg_stat_progress_create_index WHERE datname = current_database()",
  );
  const invalid = await client.query("SELECT indexrelid::regclass::text AS name FROM pg_index WHERE NOT indisvalid");
  const [commands, indexes] = [building, invalid].map(({ rows }) => Names.parse(rows).map((row) => row.name));
  return { commands: commands ?? [], invalid: indexes ?? [] };
}

/** Holds a transaction open that has written a state: an index that is built waits until `work` has ended it. */
async function withOpenWrite(url: string, work: (end: () => Promise<unknown>) => Promise<void>): Promise<void> {
  await withClient(url, async (writer) => {
    await writer.query("BEGIN");
    await writer.query("UPDATE checkpoint_rows SET crc = 1 WHERE key = 3");
    await work(() => writer.query("COMMIT"));
  });
}

describe.skipIf(server === undefined)("sparse indexes", () => {
  it("are rebuilt where that is worth it, with what an ended rebuild has left removed", async () => {
    await withSparse(async ({ storage, client }) => {
      await client.query("CREATE INDEX checkpoint_rows_pkey_ccnew1 ON checkpoint_rows (key)");
      await client.query(
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'checkpoint_rows_pkey_ccnew1'::regclass",
      );
      const [before, small] = [await bytesOf(client, sparse), await bytesOf(client, "checkpoint_rows_pkey")];
      const [index, ...others] = (await storage.rebuildIndexes?.(never)) ?? [];
      // The key's index is as sparse, but smaller than 4 MiB.
      expect(others).toEqual([]);
      expect(index).toEqual({ name: sparse, bytes: before, rebuilt: await bytesOf(client, sparse) });
      expect(index?.rebuilt).toBeLessThan(before / 2);
      expect(await bytesOf(client, "checkpoint_rows_pkey")).toBe(small);
      expect(await inProgress(client)).toEqual({ commands: [], invalid: [] });
      expect(await storage.rebuildIndexes?.(never)).toEqual([]);
    });
  });

  it("wait while another index is built", async () => {
    await withSparse(async ({ storage, client, url }) => {
      const before = await bytesOf(client, sparse);
      await withOpenWrite(url, async (end) => {
        const built = withClient(url, (other) =>
          other.query("CREATE INDEX CONCURRENTLY of_an_operator ON checkpoint_rows (parent)"),
        );
        await vi.waitFor(async () =>
          expect((await inProgress(client)).commands).toEqual(["CREATE INDEX CONCURRENTLY"]),
        );
        expect(await storage.rebuildIndexes?.(never)).toEqual([]);
        expect(await bytesOf(client, sparse)).toBe(before);
        await end();
        await built;
      });
    });
  });

  it("are left alone by a server that stops at once", async () => {
    await withSparse(async ({ storage, client }) => {
      const before = await bytesOf(client, sparse);
      const stop = new AbortController();
      const rebuilding = storage.rebuildIndexes?.(stop.signal);
      stop.abort();
      expect(await rebuilding).toEqual([]);
      expect(await bytesOf(client, sparse)).toBe(before);
    });
  });

  it("are finished by PostgreSQL where the server stops meanwhile", async () => {
    await withSparse(async ({ storage, client, url }) => {
      const before = await bytesOf(client, sparse);
      const stop = new AbortController();
      await withOpenWrite(url, async (end) => {
        const rebuilding = storage.rebuildIndexes?.(stop.signal);
        await vi.waitFor(async () => expect((await inProgress(client)).commands).toEqual(["REINDEX CONCURRENTLY"]));
        stop.abort();
        expect(await rebuilding).toEqual([]);
        await end();
      });
      await vi.waitFor(async () => expect(await inProgress(client)).toEqual({ commands: [], invalid: [] }));
      expect(await bytesOf(client, sparse)).toBeLessThan(before / 2);
    });
  });

  it("are of tables that no statement writes with ON CONFLICT", () => {
    const upserted = filesBelow("packages/engine/src/storage/postgres").flatMap((file) =>
      readFileSync(join(projectFolder, file), "utf8")
        .split(/(?=INSERT INTO)|;|`/u)
        .filter((statement) => statement.includes("ON CONFLICT"))
        .map((statement) => /^INSERT INTO (\w+)/u.exec(statement)?.[1] ?? ""),
    );
    expect(upserted).toContain("open_runs");
    expect(upserted.filter((table) => rebuiltTables.includes(table))).toEqual([]);
  });
});
