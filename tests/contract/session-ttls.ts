import { afterEach, describe, expect, it, vi } from "vitest";
import { sessionRecord, setClock, type StorageFixture } from "./records.ts";

const minute = 60_000;
const at = (minutes: number): string => new Date(minutes * minute).toISOString();

/** TTLs of sessions. */
export function describeSessionTtls(fixture: StorageFixture): void {
  describe("TTLs of sessions", () => {
    afterEach(() => void vi.useRealTimers());
    const clock = (minutes: number): void => setClock(minutes * minute);
    const due = async (): Promise<string[]> => (await fixture.storage.ttls.due()).map(({ session_id }) => session_id);
    const session = (id: string, touched = 0): Promise<unknown> =>
      fixture.storage.sessions.create(sessionRecord(id, { updated_at: at(touched) }));

    it("start when they are set, survive a restart, and can be removed", async () => {
      clock(10);
      const times: string[] = [];
      fixture.storage.ttls.onExpiry((time) => times.push(time));
      await session("s1");
      const ttl = { session_id: "s1", minutes: 5, strategy: "keep_latest", expires_at: at(15) };
      expect(await fixture.storage.ttls.set("s1", { minutes: 5, strategy: "keep_latest" })).toEqual(ttl);
      const { ttls } = await fixture.reopen();
      expect([await ttls.get("s1"), await ttls.next()]).toEqual([ttl, at(15)]);
      expect(await ttls.set("s1", null)).toBeUndefined();
      expect([await ttls.get("s1"), await ttls.next()]).toEqual([undefined, undefined]);
      expect(await ttls.set("unknown", { minutes: 5, strategy: "delete" })).toBeUndefined();
      expect(times).toEqual([at(15)]);
    });

    it("start with their session, in one write, unless that is there already", async () => {
      clock(10);
      const { sessions, ttls } = fixture.storage;
      const times: string[] = [];
      ttls.onExpiry((time) => times.push(time));
      await sessions.create(sessionRecord("s1", { updated_at: at(10) }), { minutes: 5, strategy: "delete" });
      const again = sessions.create(sessionRecord("s1"), { minutes: 1, strategy: "keep_latest" });
      await expect(again).rejects.toMatchObject({ code: "conflict" });
      const ttl = { session_id: "s1", minutes: 5, strategy: "delete", expires_at: at(15) };
      const reopened = await fixture.reopen();
      expect([await reopened.ttls.get("s1"), await reopened.ttls.next()]).toEqual([ttl, at(15)]);
      expect(times).toEqual([at(15)]);
    });

    it("expire when the session was not used since, and restart when it was", async () => {
      clock(0);
      for (const id of ["touched", "left"]) {
        await session(id);
        await fixture.storage.ttls.set(id, { minutes: 10, strategy: "delete" });
      }
      clock(8);
      await fixture.storage.sessions.update("touched", {});
      clock(10);
      expect(await due()).toEqual(["left"]);
      expect(await fixture.storage.ttls.get("touched")).toMatchObject({ expires_at: at(18) });
      await fixture.storage.sessions.delete("left");
      expect(await fixture.storage.ttls.next()).toBe(at(18));
      clock(18);
      expect(await due()).toEqual(["touched"]);
    });

    it("do not expire while the session has an active run", async () => {
      clock(0);
      await session("s1");
      await fixture.storage.sessions.update("s1", { status: "busy" });
      await fixture.storage.ttls.set("s1", { minutes: 10, strategy: "delete" });
      clock(60);
      expect(await due()).toEqual([]);
      expect(await fixture.storage.ttls.next()).toBe(at(70));
    });

    it("can be extended", async () => {
      clock(0);
      await session("s1");
      await fixture.storage.ttls.set("s1", { minutes: 10, strategy: "keep_latest" });
      await fixture.storage.ttls.moveOn("s1", at(100));
      clock(50);
      expect(await due()).toEqual([]);
      expect(await fixture.storage.ttls.get("s1")).toMatchObject({ minutes: 10, expires_at: at(100) });
    });
  });
}
