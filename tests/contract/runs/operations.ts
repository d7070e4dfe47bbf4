import { describe, expect, it } from "vitest";
import type { OperationRecord } from "@millrace/engine/storage/records";
import type { OperationStore } from "@millrace/engine/storage/attempt-store";

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

/** An operation record with the given `fields`. */
export function operation(operation_id: string, fields: Partial<OperationRecord> = {}): OperationRecord {
  const before = { kind: "file", mode: 0o644, size: 3, hash: "one" } as const;
  return {
    operation_id,
    session_id: "s1",
    run_id: "r1",
    message_id: "m1",
    tool_call_id: `call of ${operation_id}`,
    tool: "update_file",
    status: "pending",
    change: { kind: "write", path: "a.txt", before, after: null, made: [] },
    lines_added: null,
    lines_removed: null,
    first_line: null,
    is_kept: true,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    ...fields,
  };
}

/** The rules of every store of operations. `create` makes the sessions too. */
export function describeOperations(name: string, create: (sessionIds: string[]) => Promise<OperationStore>): void {
  describe(name, () => {
    it("stores an operation when it begins, with the former bytes of its files", async () => {
      const store = await create(["s1"]);
      const begun = await store.begin(operation("o1"), new Map([["one", bytes("old\0\u{1f600}")]]));
      expect(begun).toEqual(operation("o1"));
      expect(await store.get("s1", "o1")).toEqual(operation("o1"));
      expect(await store.ofCall("s1", "call of o1")).toEqual(operation("o1"));
      expect(Buffer.from((await store.content("o1", "one")) ?? []).toString()).toBe("old\0\u{1f600}");
      expect(await store.content("o1", "two")).toBeUndefined();
      expect(await store.get("s2", "o1")).toBeUndefined();
    });

    it("returns a call that began before its first record", async () => {
      const store = await create(["s1"]);
      await store.begin(operation("o1"), new Map([["one", bytes("old")]]));
      const again = operation("o2", { tool_call_id: "call of o1", status: "success" });
      expect(await store.begin(again, new Map([["two", bytes("new")]]))).toEqual(operation("o1"));
      expect(await store.get("s1", "o2")).toBeUndefined();
      expect(await store.content("o1", "two")).toBeUndefined();
    });

    it("stores the end of an operation, and drops the bytes of one that cannot be undone", async () => {
      const store = await create(["s1"]);
      for (const id of ["o1", "o2"]) await store.begin(operation(id), new Map([["one", bytes("old")]]));
      const change = { ...operation("o1").change, after: { kind: "absent" } } as OperationRecord["change"];
      const end = { change, lines_added: 2, lines_removed: 1, first_line: 7 };
      await store.settle("o1", { ...end, status: "success", is_kept: true }, new Map([["two", bytes("new")]]));
      await store.settle("o2", { ...end, status: "failed", is_kept: false }, new Map([["two", bytes("new")]]));
      expect(await store.get("s1", "o1")).toMatchObject({ ...end, status: "success", is_kept: true });
      expect(await store.get("s1", "o2")).toMatchObject({ ...end, status: "failed", is_kept: false });
      const kept = await Promise.all(["one", "two"].map((hash) => store.content("o1", hash)));
      expect(kept.map((one) => Buffer.from(one ?? []).toString())).toEqual(["old", "new"]);
      expect(await store.content("o2", "one")).toBeUndefined();
      expect(await store.content("o2", "two")).toBeUndefined();
    });

    it("lists the operations of a session newest first, in pages, by run and by message", async () => {
      const store = await create(["s1", "s2"]);
      await store.begin(operation("o1"), new Map());
      await store.begin(operation("o2", { run_id: "r2", message_id: "m2" }), new Map());
      await store.begin(operation("o3", { run_id: "r2" }), new Map());
      await store.begin(operation("other", { session_id: "s2" }), new Map());
      const ids = async (query: Partial<Parameters<OperationStore["list"]>[1]>) => {
        const { operations, total } = await store.list("s1", { limit: 10, offset: 0, ...query });
        return [operations.map((one) => one.operation_id), total];
      };
      expect(await ids({})).toEqual([["o3", "o2", "o1"], 3]);
      expect(await ids({ limit: 1, offset: 1 })).toEqual([["o2"], 3]);
      expect(await ids({ run_id: "r2" })).toEqual([["o3", "o2"], 2]);
      expect(await ids({ message_id: "m1" })).toEqual([["o3", "o1"], 2]);
      expect(await store.list("nowhere", { limit: 10, offset: 0 })).toEqual({ operations: [], total: 0 });
    });
  });
}
