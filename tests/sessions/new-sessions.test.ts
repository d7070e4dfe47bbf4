import { expect, it } from "vitest";
import { trackNewSessions } from "@millrace/engine/sessions/scope/owner-scope";
import { runRecord, sessionRecord } from "../contract/records.ts";
import { createTestStorage } from "../support/test-storage.ts";

it("a session that nothing came of goes again, but not under the run that somebody has begun in it meanwhile", async () => {
  const storage = createTestStorage();
  const runs = { between: <Result>(_id: string, work: () => Promise<Result>) => work() };
  const { sessions, newSessions } = trackNewSessions(storage.sessions, storage.ttls, { storage, runs });
  const [empty, used] = [await sessions.create(sessionRecord("empty")), await sessions.create(sessionRecord("used"))];
  const foreign = await storage.sessions.create(sessionRecord("foreign"));
  await storage.runs.admit(runRecord("r1", "used"));
  for (const session of [empty, used, foreign]) await newSessions.discard(session);
  const left = await Promise.all(["empty", "used", "foreign"].map((id) => storage.sessions.get(id)));
  expect(left.map((session) => session?.session_id)).toEqual([undefined, "used", "foreign"]);
});
