import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import BetterSqlite3 from "better-sqlite3";
import { noEvents } from "@millrace/engine/storage/attempt-store";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { toolSteps } from "../../bench/graphs/steps.ts";
import { runRecord, sessionRecord, append } from "../../contract/records.ts";
import { describeStorage } from "../../contract/storage.ts";

describeStorage("the SQLite storage", async (place) => createSqliteStorage(place));

describe("the SQLite file", () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-storage-"));
    path = join(folder, "millrace.sqlite");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Reads the file beside the open storage. */
  function query(sql: string): unknown[] {
    const database = new BetterSqlite3(path, { readonly: true });
    try {
      return database.prepare(sql).pluck().all();
    } finally {
      database.close();
    }
  }

  it("knows which calls were started and ended when the process is killed in the middle of tool calls", async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "ledger-child.ts"), path], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [output] = await once(child.stdout, "data");
    expect(String(output)).toBe("ready\n");
    child.kill("SIGKILL");
    await once(child, "exit");

    const storage = createSqliteStorage(path);
    try {
      expect(await storage.runs.unfinished()).toMatchObject([{ run_id: "r1", status: "running", attempt: 1 }]);
      const start = (tool_call_id: string, effect: "pure" | "idempotent" | "unsafe") =>
        storage.manualCalls.ledger.start({ session_id: "s1", run_id: "r1", tool: "t", tool_call_id, effect });
      expect(await start("ended", "unsafe")).toEqual({ kind: "finished", result: "the result" });
      expect(await start("unsafe", "unsafe")).toMatchObject({ kind: "unknown" });
      expect(await start("idempotent", "idempotent")).toEqual({ kind: "repeat" });
      expect(await start("pure", "pure")).toEqual({ kind: "repeat" });
    } finally {
      await storage.close();
    }
  });

  it("compiles each statement once, whatever its parameters", async () => {
    const storage = createSqliteStorage(path);
    const walk = async (name: string): Promise<void> => {
      await storage.sessions.create(sessionRecord(name));
      await storage.runs.admit(runRecord(`${name}-run`, name), { hasRoom: true });
      const attempt = storage.attempt({ session_id: name, run_id: `${name}-run`, attempt: 1 });
      const graph = toolSteps.compile({ checkpointer: attempt.checkpointer(noEvents) });
      await graph.invoke({ left: 3 }, { configurable: { thread_id: name, run_id: `${name}-run` }, durability: "sync" });
      await storage.runs.get(`${name}-run`);
    };
    // better-sqlite3 makes a function for the rows of a statement each time SQLite has compiled it.
    const compiled = vi.fn<FunctionConstructor>(Function);
    try {
      vi.stubGlobal("Function", compiled);
      await walk("first");
      expect(compiled).toHaveBeenCalled();
      compiled.mockClear();
      await walk("second");
      expect(compiled.mock.calls).toEqual([]);
    } finally {
      vi.unstubAllGlobals();
      await storage.close();
    }
  });

  it("grows by a few bytes for another values event of a long history and for another token", async () => {
    const storage = createSqliteStorage(path);
    try {
      await storage.sessions.create(sessionRecord("s1"));
      await storage.runs.admit(runRecord("r1", "s1"));
      const messages = Array.from(
        { length: 1000 },
        (_, index) => new HumanMessage({ id: `m${index}`, content: "x".repeat(50) }),
      );
      const values = (id: number) => ({
        id,
        event: "values" as const,
        namespace: [],
        data: { messages: [...messages] },
      });
      await append(storage, "s1", "r1", [values(0)]);
      await append(storage, "s1", "r1", [values(1)]);
      const metadata = { langgraph_node: "call_model", langgraph_triggers: ["a trigger with a long name"] };
      const token = (id: number) => {
        const data = new AIMessageChunk({ id: "a", content: "word" });
        return { id, event: "messages" as const, namespace: ["loop:1"], data, metadata };
      };
      await append(
        storage,
        "s1",
        "r1",
        Array.from({ length: 100 }, (_, index) => token(index + 2)),
      );
      const [, second, tokens] = query("SELECT length(payload) FROM run_events ORDER BY last_id");
      expect(second).toBeLessThan(200);
      expect(tokens).toBeLessThan(100 * 25);
    } finally {
      await storage.close();
    }
  });

  it("keeps nothing of a deleted session in any table", async () => {
    const storage = createSqliteStorage(path);
    try {
      await storage.sessions.create(sessionRecord("s1"));
      await storage.runs.admit(runRecord("r1", "s1"));
      const data = { messages: [new HumanMessage({ id: "m", content: "hi" })] };
      await append(storage, "s1", "r1", [{ id: 0, event: "values", namespace: [], data }]);
      await storage.manualCalls.ledger.start({
        session_id: "s1",
        tool_call_id: "c",
        run_id: "r1",
        tool: "t",
        effect: "unsafe",
      });
      await storage.sessions.delete("s1");
      const tables = query("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
      expect(tables).toContain("run_events");
      const filled = tables.filter((table) => Number(query(`SELECT count(*) FROM "${String(table)}"`)[0]) > 0);
      expect(filled).toEqual(["migrations"]);
    } finally {
      await storage.close();
    }
  });

  it("reports which row cannot be read when it was changed from outside", async () => {
    const storage = createSqliteStorage(path);
    try {
      await storage.sessions.create(sessionRecord("s1"));
      const database = new BetterSqlite3(path);
      database.prepare("UPDATE sessions SET metadata = '{broken'").run();
      database.close();
      await expect(storage.sessions.get("s1")).rejects.toMatchObject({
        code: "storage_corrupt",
        message: expect.stringMatching(/sessions.*metadata.*not JSON/),
      });
    } finally {
      await storage.close();
    }
  });
});
