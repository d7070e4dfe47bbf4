import pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { startPostgres } from "../../../support/processes/postgres.ts";

const Statement = z.object({ text: z.string() });
const server = await startPostgres();
afterAll(() => server?.stop());

describe.skipIf(server === undefined)("PostgreSQL", () => {
  let storage: OpenedStorage;
  let address: string;
  beforeEach(async () => {
    address = (await server?.create()) ?? "";
    storage = await createPostgresStorage(address);
  });
  afterEach(() => storage.close());

  it("applies a batch of changes in order, and completely or not at all", async () => {
    const change = (key: string, value: { n: number } | null) => ({ namespace: ["n"], key, value });
    await storage.items.change("ada", [change("a", { n: 1 }), change("b", { n: 2 }), change("a", null)]);
    await storage.items.change("ada", [change("b", null), change("b", { n: 3 }), change("b", { n: 4 })]);
    const found = await storage.items.search("ada", { prefix: [], limit: 10, offset: 0 });
    expect(found.map(({ key, value }) => [key, value])).toEqual([["b", { n: 4 }]]);
    const failing = [change("c", { n: 5 }), change("d\0", { n: 6 })];
    await expect(storage.items.change("ada", failing)).rejects.toMatchObject({ code: "invalid_parameter" });
    expect(await storage.items.get("ada", ["n"], "c")).toBeUndefined();
  });

  it("stores every character of values, names and chunks, also those that PostgreSQL rejects in a text", async () => {
    const text = "a\0b \ud800 \u{1f600} \\u0000";
    await storage.items.change("ada", [{ namespace: ["n"], key: "k", value: { text } }]);
    expect((await storage.items.get("ada", ["n"], "k"))?.value).toEqual({ text });
    const piece = { first_line: 1, last_line: 2, text, vector: Float32Array.of(1) };
    await storage.textIndex.put("one", [{ path: "p", stamp: "s", hash: "h", bytes: 1, pieces: [piece] }]);
    const query = { vector: Float32Array.of(1), path: null, limit: 1 };
    expect(await storage.textIndex.search("one", query, new AbortController().signal)).toMatchObject([{ text }]);
    const given = { owner: null, is_system: false, graph_id: "agent", config: { text }, context: {}, version: 1 };
    const at = "2026-01-01T00:00:00.000Z";
    const one = { ...given, assistant_id: "a1", name: text, description: text, created_at: at, updated_at: at };
    await storage.assistants.create({ ...one, metadata: { text } });
    expect(await storage.assistants.get("a1")).toMatchObject({ name: text, description: text, metadata: { text } });
    const query2 = { limit: 10, offset: 0, metadata: { text }, name: "A\0B" };
    expect(await storage.assistants.search(query2, [])).toMatchObject({ total: 1 });
    expect(await storage.assistants.search({ ...query2, metadata: { text: "a" } }, [])).toMatchObject({ total: 0 });
  });

  it("finds the history of a file by an index on its paths, not by a scan of all operations", async () => {
    const sent = vi.spyOn(pg.Client.prototype, "query");
    await storage.overview.operations({ path: "a.md", sessions: {}, limit: 10 });
    const texts = sent.mock.calls.map(([asked]: unknown[]) => Statement.safeParse(asked).data?.text ?? "");
    const sql = texts.find((text) => text.includes("FROM operations"));
    sent.mockRestore();
    const client = new pg.Client(address);
    await client.connect();
    try {
      // A table without rows is scanned where that is allowed.
      await client.query("SET enable_seqscan = off");
      const { rows } = await client.query(`EXPLAIN ${sql ?? ""}`, ['"a.md"', 11]);
      const plan = JSON.stringify(rows);
      for (const name of ["path", "source", "target"]) expect(plan).toContain(`operations_by_${name}`);
    } finally {
      await client.end();
    }
  });
});
