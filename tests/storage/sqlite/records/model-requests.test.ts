import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { migrate } from "@millrace/engine/storage/sqlite/migrations";
import { migrations } from "@millrace/engine/storage/sqlite/migrations/index";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import type { ModelRequest } from "@millrace/engine/storage/record-stores";
import { sessionRecord, writer } from "../../../contract/records.ts";

let folder: string;
let storage: SqliteStorage;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-requests-"));
  storage = createSqliteStorage(join(folder, "millrace.db"));
});
afterEach(async () => {
  await storage.close();
  rmSync(folder, { recursive: true, force: true });
});

const number = (sql: string): number => {
  const database = new Database(join(folder, "millrace.db"), { readonly: true });
  try {
    return Number(database.prepare(sql).pluck().get());
  } finally {
    database.close();
  }
};

/** A session whose state contains these messages. */
async function sessionWith(id: string, messages: HumanMessage[]): Promise<void> {
  await storage.sessions.create(sessionRecord(id));
  const checkpoint = { ...emptyCheckpoint(), channel_values: { messages }, channel_versions: { messages: 1 } };
  const metadata = { source: "input" as const, step: -1, parents: {} };
  await storage.checkpointer.put({ configurable: { thread_id: id, checkpoint_ns: "" } }, checkpoint, metadata);
}

const requestOf = (session_id: string, system: string, messages: HumanMessage[]): ModelRequest => ({
  session_id,
  run_id: "r1",
  model_call_id: "c1",
  node: "free_work",
  is_silent: false,
  model: "openai:scripted",
  temperature: null,
  thinking: null,
  max_tokens: null,
  tool_protocol: null,
  forced_tool: null,
  asked_at: new Date().toISOString(),
  head: { system, parts: [], documentation: [] },
  messages,
  tools: [{ type: "function", function: { name: "read_file" } }],
});

it("a request takes the same space however long the session is, and adds no items", async () => {
  const messages = Array.from(
    { length: 1000 },
    (_, index) => new HumanMessage({ id: `m${index}`, content: "x".repeat(500) }),
  );
  await sessionWith("s1", messages);
  const items = number("SELECT sum(length(data)) FROM checkpoint_items");
  for (const round of [1, 2, 3]) {
    const pruned = new HumanMessage({ id: "m700", content: "left out" });
    const shown = [...messages.slice(0, 700), pruned, ...messages.slice(701), new HumanMessage(`note ${round}`)];
    await writer(storage, "r1").requests.record(requestOf("s1", "You are here.", shown));
  }
  expect(number("SELECT count(*) FROM model_requests")).toBe(3);
  expect(number("SELECT max(length(data)) FROM model_requests")).toBeLessThan(2500);
  expect(number("SELECT sum(length(data)) FROM checkpoint_items")).toBe(items);
  const { messages: found = [] } = (await storage.requests.last("s1")) ?? {};
  expect(found.map(({ content }) => content)).toEqual([
    ...messages.map(({ content }, index) => (index === 700 ? "left out" : content)),
    "note 3",
  ]);
});

it("a text that sessions share is stored once, until the last of them is deleted", async () => {
  const texts = () => number("SELECT count(*) FROM model_texts WHERE text LIKE '%lighthouse%'");
  for (const id of ["s1", "s2"]) {
    await sessionWith(id, []);
    await writer(storage, "r1").requests.record(requestOf(id, "You keep a lighthouse.", []));
  }
  expect(texts()).toBe(1);
  await writer(storage, "r1").requests.record(requestOf("s1", "You sail.", []));
  expect(texts()).toBe(1);
  await storage.sessions.delete("s2");
  expect(texts()).toBe(1);
  expect((await storage.requests.last("s1"))?.head.system).toBe("You sail.");
  expect((await storage.requests.last("s1"))?.tools).toHaveLength(1);
  await storage.sessions.delete("s1");
  expect(texts()).toBe(0);
});

it("requests from before model call ids are kept", async () => {
  const path = join(folder, "older.db");
  const database = openDatabase(path);
  migrate(
    database,
    migrations.filter(({ id }) => id < 27),
  );
  database.raw.exec(
    `INSERT INTO sessions (session_id, created_at, updated_at, status, metadata, config, interrupts)
       VALUES ('s1', '2026-01-01', '2026-01-02', 'idle', '{}', '{}', '{}');
     INSERT INTO model_requests (session, run_id, number, node, is_silent, asked_at, head, tools, data)
       SELECT id, 'r1', 1, 'free_work', 0, '2026-01-01', 'h', 't', '' FROM sessions`,
  );
  database.close();
  const older = createSqliteStorage(path);
  try {
    expect(await older.requests.calls("s1", "r1")).toMatchObject([{ number: 1, model_call_id: null }]);
  } finally {
    await older.close();
  }
});
