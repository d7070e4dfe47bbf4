import { expect, it } from "vitest";
import { trackNewSessions } from "@millrace/engine/sessions/scope/owner-scope";
import { createSession, inSession } from "@millrace/engine/sessions/sessions";
import { defaultTimes } from "@millrace/engine/config/default-times";
import { withDefaultTimes } from "@millrace/engine/storage/default-times";
import { runRecord, sessionRecord } from "../contract/records.ts";
import { createTestStorage } from "../support/test-storage.ts";

it("a session without a run is deleted again, but not when a run has begun in it meanwhile", async () => {
  const storage = createTestStorage();
  const runs = { between: <Result>(_id: string, work: () => Promise<Result>) => work() };
  const { sessions, newSessions } = trackNewSessions(storage.sessions, { storage, runs }, () => true);
  const [empty, used] = [await sessions.create(sessionRecord("empty")), await sessions.create(sessionRecord("used"))];
  const foreign = await storage.sessions.create(sessionRecord("foreign"));
  await storage.runs.admit(runRecord("r1", "used"));
  for (const session of [empty, used, foreign]) await newSessions.discard(session);
  const left = await Promise.all(["empty", "used", "foreign"].map((id) => storage.sessions.get(id)));
  expect(left.map((session) => session?.session_id)).toEqual([undefined, "used", "foreign"]);
});

it("a session that its request takes back, while another one finds it there, is made anew for that one", async () => {
  const storage = createTestStorage();
  const runs = { between: <Result>(_id: string, work: () => Promise<Result>) => work() };
  const failing = trackNewSessions(storage.sessions, { storage, runs }, () => true);
  const made = await failing.sessions.create(sessionRecord("shared"));
  const get = async (id: string) => {
    await failing.newSessions.discard(made);
    return await storage.sessions.get(id);
  };
  const { sessions } = trackNewSessions({ ...storage.sessions, get }, { storage, runs }, () => true);
  const session = await createSession({ sessions }, { session_id: "shared", if_exists: "do_nothing" });
  expect(await storage.sessions.get("shared")).toEqual(session);
});

it("work in a session that its request takes back meanwhile is done again in one that is made for it", async () => {
  const storage = createTestStorage();
  const runs = { between: <Result>(_id: string, work: () => Promise<Result>) => work() };
  const failing = trackNewSessions(storage.sessions, { storage, runs }, () => true);
  const made = await failing.sessions.create(sessionRecord("shared"));
  const own = trackNewSessions(storage.sessions, { storage, runs }, () => true);
  const services = { storage: { sessions: own.sessions }, newSessions: own.newSessions };
  let tries = 0;
  const admitted = await inSession(services, { session_id: "shared" }, async () => {
    tries += 1;
    if (tries === 1) await failing.newSessions.discard(made);
    return await storage.runs.admit(runRecord("r1", "shared"));
  });
  expect([admitted.run.session_id, tries]).toEqual(["shared", 2]);
  // What fails in a session of its own is not done again, and the session is deleted.
  const refused = inSession(services, { session_id: "other" }, async () => {
    throw new Error("refused");
  });
  await expect(refused).rejects.toThrow("refused");
  expect(await storage.sessions.get("other")).toBeUndefined();
});

it("a session is never there without the time for which it is to be kept", async () => {
  const storage = createTestStorage();
  const runs = { between: <Result>(_id: string, work: () => Promise<Result>) => work() };
  const { sessions, newSessions } = trackNewSessions(storage.sessions, { storage, runs }, () => true);
  const ttl = { minutes: 60, strategy: "delete" as const };
  const kept = async (session_id: string) =>
    await inSession({ storage: { sessions }, newSessions }, { session_id, ttl }, ({ session_id: id }) =>
      storage.ttls.get(id),
    );
  await storage.sessions.create(sessionRecord("known"));
  expect([await kept("new"), await kept("known")]).toMatchObject([{ session_id: "new", ...ttl }, undefined]);
});

it("a session has the time that all have by default as soon as it is there", async () => {
  const stored = createTestStorage();
  // As if the process ended after the write that creates the session.
  const set = () => Promise.reject(new Error("not written"));
  const sessions = { minutes: 5, strategy: "keep_latest" as const };
  const times = { ...defaultTimes(undefined, undefined), sessions };
  const storage = withDefaultTimes({ ...stored, ttls: { ...stored.ttls, set } }, times);
  await storage.sessions.create(sessionRecord("usual"));
  await storage.sessions.create(sessionRecord("for ever"), null);
  expect([await stored.ttls.get("usual"), await stored.ttls.get("for ever")]).toMatchObject([sessions, undefined]);
});
