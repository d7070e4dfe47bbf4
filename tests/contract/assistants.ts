import { describe, expect, it } from "vitest";
import type { AssistantQuery } from "@millrace/engine/storage/record-stores";
import type { Assistant } from "@millrace/engine/storage/records";
import type { StorageFixture } from "./records.ts";

/** An assistant record with the given fields. */
function assistantRecord(given: Partial<Assistant> & Pick<Assistant, "assistant_id">): Assistant {
  return {
    owner: null,
    is_system: false,
    graph_id: "agent",
    config: { configurable: { tone: "dry" } },
    context: { model: "offline" },
    metadata: { team: { name: "red" } },
    version: 1,
    name: "Untitled",
    description: null,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
    ...given,
  };
}

/** Assistants and their versions. */
export function describeAssistants(fixture: StorageFixture): void {
  describe("assistants", () => {
    const one = assistantRecord({ assistant_id: "a1" });
    const all: AssistantQuery = { limit: 10, offset: 0 };

    it("survive a restart, and an id that exists is refused", async () => {
      await fixture.storage.assistants.create(one);
      await expect(fixture.storage.assistants.create(one)).rejects.toMatchObject({ code: "conflict" });
      const { assistants } = await fixture.reopen();
      expect(await assistants.get("a1")).toEqual(one);
      expect(await assistants.get("a2")).toBeUndefined();
    });

    it("get a version with each change: metadata is merged, the rest replaced", async () => {
      const { assistants } = fixture.storage;
      await assistants.create(one);
      const second = await assistants.update(one, { metadata: { level: 2 }, config: {}, name: "Ada" });
      expect(second).toMatchObject({ version: 2, metadata: { team: { name: "red" }, level: 2 }, config: {} });
      expect(await assistants.update(second, {})).toMatchObject({ version: 3, name: "Ada" });
      expect(await assistants.get("a1")).toMatchObject({ version: 3, name: "Ada", context: one.context });
      const versions = await assistants.versions("a1", { limit: 10, offset: 0 });
      expect(versions.map(({ version, name }) => [version, name])).toEqual([
        [3, "Ada"],
        [2, "Ada"],
        [1, "Untitled"],
      ]);
      expect(versions[2]).not.toHaveProperty("owner");
      expect(await assistants.versions("a1", { limit: 1, offset: 1 })).toMatchObject([{ version: 2 }]);
      const leveled = await assistants.versions("a1", { limit: 10, offset: 0, metadata: { level: 2 } });
      expect(leveled.map(({ version }) => version)).toEqual([3, 2]);
      const list = Array.from({ length: 30 }, (_, n) => n);
      const query = { limit: 10, offset: 0, metadata: { list } };
      await assistants.update(second, { metadata: { list: list.slice(1) } });
      expect(await assistants.versions("a1", query)).toEqual([]);
      await assistants.update(second, { metadata: { list: list.toReversed() } });
      expect(await assistants.versions("a1", query)).toMatchObject([{ version: 5 }]);
      expect((await assistants.search({ ...all, metadata: { list } }, [])).total).toBe(1);
      expect((await assistants.search({ ...all, metadata: { list: [...list, 30] } }, [])).total).toBe(0);
    });

    it("are set back to an earlier version as a whole, and the next update makes a new version", async () => {
      const { assistants } = fixture.storage;
      await assistants.create(one);
      await assistants.update(one, { graph_id: "other", context: { model: "b" }, description: "later" });
      const first = await assistants.setLatest("a1", 1);
      expect(first).toEqual({ ...one, updated_at: first?.updated_at });
      expect(await assistants.setLatest("a1", 7)).toBeUndefined();
      expect(await assistants.setLatest("a2", 1)).toBeUndefined();
      expect(await assistants.update(one, { name: "Third" })).toMatchObject({ version: 3, graph_id: "agent" });
    });

    it("of graphs get a row at their first update, and are found with and without one", async () => {
      const { assistants } = fixture.storage;
      const system = [
        assistantRecord({ assistant_id: "s1", is_system: true, name: "agent" }),
        assistantRecord({ assistant_id: "s2", is_system: true, name: "other", graph_id: "other" }),
      ];
      const [first] = system;
      if (first === undefined) throw new Error("there is one");
      expect(await assistants.search(all, system)).toEqual({ assistants: system.toReversed(), total: 2 });
      expect(await assistants.update(first, { name: "changed" })).toMatchObject({ version: 2, is_system: true });
      const found = await assistants.search({ ...all, sort_by: "name", sort_order: "asc" }, system);
      expect(found.assistants.map(({ name, version }) => [name, version])).toEqual([
        ["changed", 2],
        ["other", 1],
      ]);
      expect(await assistants.search(all, system.slice(1))).toMatchObject({ total: 1 });
      expect(await assistants.versions("s1", { limit: 10, offset: 0 })).toHaveLength(2);
    });

    it("are searched by graph, part of the name, metadata and owner, sorted and in pages", async () => {
      const { assistants } = fixture.storage;
      await assistants.create(assistantRecord({ assistant_id: "a1", owner: "ada", name: "ÄPFEL" }));
      await assistants.create(assistantRecord({ assistant_id: "a2", owner: "bob", name: "Birne", graph_id: "other" }));
      await assistants.create(assistantRecord({ assistant_id: "a3", name: "Quitte", metadata: { team: {} } }));
      const ids = async (query: Partial<AssistantQuery>): Promise<string[]> =>
        (await assistants.search({ ...all, sort_by: "name", sort_order: "asc", ...query }, [])).assistants.map(
          ({ assistant_id }) => assistant_id,
        );
      expect(await ids({ graph_id: "other" })).toEqual(["a2"]);
      expect(await ids({ name: "äpf" })).toEqual(["a1"]);
      expect(await ids({ name: "i" })).toEqual(["a2", "a3"]);
      expect(await ids({ metadata: { team: { name: "red" } } })).toEqual(["a2", "a1"]);
      expect(await ids({ owner: { name: "ada", orphans: false } })).toEqual(["a1"]);
      expect(await ids({ owner: { name: "ada", orphans: true } })).toEqual(["a3", "a1"]);
      expect(await ids({ sort_by: "assistant_id", sort_order: "desc", limit: 2, offset: 1 })).toEqual(["a2", "a1"]);
      expect((await assistants.search({ ...all, limit: 1 }, [])).total).toBe(3);
    });

    it("are deleted with their versions", async () => {
      const { assistants } = fixture.storage;
      await assistants.create(one);
      expect(await assistants.delete("a1")).toBe(true);
      expect(await assistants.delete("a1")).toBe(false);
      expect(await assistants.versions("a1", { limit: 10, offset: 0 })).toEqual([]);
    });
  });
}
