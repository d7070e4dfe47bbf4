import { describe, expect, it } from "vitest";
import { sessionRecord, type StorageFixture } from "./records.ts";

/** The current session of each namespace (SESS-11). */
export function describeNamespaces(fixture: StorageFixture): void {
  describe("namespaces", () => {
    it("have one current session each, by owner, which survives a restart", async () => {
      const { sessions, namespaces } = fixture.storage;
      for (const id of ["s1", "s2"]) await sessions.create(sessionRecord(id));
      expect(await namespaces.get("ada", "work")).toBeUndefined();
      expect(await namespaces.set("ada", "work", "s1")).toBe(true);
      expect(await namespaces.set("ada", "work", "s2")).toBe(true);
      expect(await namespaces.set("ada", "home", "s1")).toBe(true);
      expect(await namespaces.set("bob", "work", "s1")).toBe(true);
      const after = (await fixture.reopen()).namespaces;
      expect(await after.get("ada", "work")).toMatchObject({ namespace: "work", session_id: "s2" });
      expect((await after.list("ada")).map(({ namespace, session_id }) => [namespace, session_id])).toEqual([
        ["home", "s1"],
        ["work", "s2"],
      ]);
      expect(await after.list("")).toEqual([]);
    });

    it("keep a current session that the caller does not know of", async () => {
      const { sessions, namespaces } = fixture.storage;
      for (const id of ["s1", "s2"]) await sessions.create(sessionRecord(id));
      expect(await namespaces.set("ada", "work", "s1", null)).toBe(true);
      expect(await namespaces.set("ada", "work", "s2", null)).toBe(false);
      expect(await namespaces.set("ada", "work", "s2", "s2")).toBe(false);
      expect(await namespaces.get("ada", "work")).toMatchObject({ session_id: "s1" });
      expect(await namespaces.set("ada", "work", "s2", "s1")).toBe(true);
      expect(await namespaces.get("ada", "work")).toMatchObject({ session_id: "s2" });
    });

    it("have none after it was deleted, and refuse a session that does not exist", async () => {
      const { sessions, namespaces } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      await namespaces.set("", "default", "s1");
      expect(await namespaces.set("", "default", "unknown")).toBe(false);
      expect(await namespaces.get("", "default")).toMatchObject({ session_id: "s1" });
      await sessions.delete("s1");
      expect(await namespaces.get("", "default")).toBeUndefined();
      expect(await namespaces.list("")).toEqual([]);
    });
  });
}
