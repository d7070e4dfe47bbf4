import { describe, expect, it } from "vitest";
import { readRecord } from "@millrace/engine/http/protocol/session/thread-record";
import { followSession } from "@millrace/engine/runs/follow/follow-session";
import { SessionPublisher } from "@millrace/engine/runs/follow/follow";
import { createTestStorage } from "../../support/test-storage.ts";
import { createHarness, createGate, gatedGraph, never, plainGraph, request, settle } from "../fixtures.ts";

async function follower() {
  const { storage, runs, session } = await createHarness({ agent: plainGraph() }, createTestStorage());
  const run = await runs.start(session, request("agent"));
  await runs.wait(run.run_id, never);
  const sessions = new SessionPublisher();
  return {
    storage,
    session,
    runs,
    first: run.run_id,
    sessions,
    sources: { active: new Map(), storage, sessions, stopping: never, drained: never },
  };
}

describe("a reader of a session", () => {
  it("leaves no list behind when it goes while it is given what was before", async () => {
    const { sessions, sources, session } = await follower();
    for await (const batch of followSession(sources, session.session_id, "all", never)) {
      expect(batch.length).toBeGreaterThan(0);
      expect(sessions.readers).toBe(1);
      break;
    }
    expect(sessions.readers).toBe(0);
  });

  it("is given what came after its last event, of however many runs, and makes the server read no more than those", async () => {
    const { sources, session, runs, storage, first } = await follower();
    const ids = [first];
    for (let number = 0; number < 60; number += 1) {
      ids.push((await runs.start(session, request("agent", { multitask_strategy: "enqueue" }))).run_id);
    }
    await runs.wait(ids.at(-1) ?? "", never);
    let read = 0;
    const list: typeof storage.runs.list = async (...args) => {
      const page = await storage.runs.list(...args);
      read += page.length;
      return page;
    };
    const counted = { ...sources, storage: { ...storage, runs: { ...storage.runs, list } } };
    const leaving = new AbortController();
    const runsSeen = async (place: Parameters<typeof followSession>[2], until: number): Promise<string[]> => {
      const seen = new Set<string>();
      for await (const batch of followSession(counted, session.session_id, place, leaving.signal)) {
        for (const { run_id } of batch) seen.add(run_id);
        if (seen.size === until) break;
      }
      return [...seen];
    };
    expect(await runsSeen({ run_id: ids[58] ?? "", id: -1 }, 3)).toEqual(ids.slice(58));
    expect(read).toBe(50);
    expect(await runsSeen("all", 61)).toEqual(ids);
  });

  it("leaves none behind when the store refuses what was before", async () => {
    const { sessions, sources, session, storage } = await follower();
    const follow = (): never => {
      throw new Error("no disk");
    };
    const refusing = { ...storage, events: { ...storage.events, follow } };
    const events = followSession({ ...sources, storage: refusing }, session.session_id, "all", never);
    await expect(events.next()).rejects.toThrow("no disk");
    expect(sessions.readers).toBe(0);
  });

  it("gets a run that begins while it looks once, then those that come, and leaves with its signal", async () => {
    const { sessions, sources, session, runs, first } = await follower();
    const leaving = new AbortController();
    const seen: string[] = [];
    let later: string | undefined;
    for await (const batch of followSession(sources, session.session_id, "all", leaving.signal)) {
      seen.push(...batch.map(({ run_id, event }) => `${run_id} ${event.id}`));
      if (later === undefined) {
        // The one that began in between is in the list that the reader began with, and in what comes.
        sessions.publish(session.session_id, { run_id: first, hasBegun: true });
        later = (await runs.start(session, request("agent"))).run_id;
        await runs.wait(later, never);
        sessions.publish(session.session_id, { run_id: later, hasBegun: true });
      } else if (batch[0]?.run_id === later) leaving.abort();
    }
    expect(seen).toEqual([...new Set(seen)]);
    expect(new Set(seen.map((place) => place.split(" ")[0]))).toEqual(new Set([first, later]));
    expect(sessions.readers).toBe(0);
  });
});

describe("the record of a session", () => {
  it("sends to a reader that comes while it is written the end of a run that was stopped in the queue", async () => {
    const gate = createGate();
    const { storage, runs, session } = await createHarness({ agent: gatedGraph(gate) }, createTestStorage());
    await runs.start(session, request("agent"));
    const queued = await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
    await gate.arrived;
    const written = Promise.withResolvers<void>();
    storage.beforeWrite = async (operation) => {
      if (operation === "finish") await written.promise;
    };
    const cancelled = runs.cancel(queued.run_id, { action: "interrupt", wait: true });
    await settle();
    const leaving = new AbortController();
    const ended: string[] = [];
    const reading = (async (): Promise<void> => {
      for await (const item of runs.followRecord(session.session_id, undefined, leaving.signal)) {
        if ("ended" in item) ended.push(item.run.run_id);
        if (ended.length > 0) break;
      }
    })();
    await settle();
    written.resolve();
    await cancelled;
    gate.open();
    await reading;
    expect(ended).toEqual([queued.run_id]);
    leaving.abort();
  });

  it.each([
    { when: "while it is admitted", comesBefore: false },
    { when: "before it is asked for, and learns of it by its row", comesBefore: true },
  ])("shows the beginning of a run at once to a reader that comes $when, under its ids", async ({ comesBefore }) => {
    const gate = createGate();
    const storage = createTestStorage();
    const [stored, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // The request for the run goes on after its row is there.
    const admit: typeof storage.runs.admit = async (...given) => {
      const admitted = await storage.runs.admit(...given);
      stored.resolve();
      await answered.promise;
      return admitted;
    };
    const notifications = { ...storage.notifications, isShared: true, hasPeers: true };
    const slow = { ...storage, runs: { ...storage.runs, admit }, notifications };
    const { runs, graphs, session } = await createHarness({ agent: gatedGraph(gate) }, slow);
    const leaving = new AbortController();
    const follow = async (ids: string[], onPart?: (part: unknown) => void): Promise<void> => {
      const filter = { channels: ["lifecycle"] };
      for await (const part of readRecord({ runs, graphs }, session.session_id, filter, leaving.signal)) {
        onPart?.(part);
        if (typeof part !== "string") ids.push(...part.events.map(({ event_id = "" }) => event_id));
      }
    };
    const parts: unknown[] = [];
    const early: string[] = [];
    const late: string[] = [];
    const read = (): Promise<void> => follow(early, (part) => parts.push(part));
    const reading = comesBefore ? [read()] : [];
    if (comesBefore) await expect.poll(() => parts).toEqual(["caught up", "waits"]);
    const started = runs.start(session, request("agent"));
    await stored.promise;
    if (!comesBefore) reading.push(read());
    await expect.poll(() => parts).toContain(comesBefore ? "goes on" : "caught up");
    await settle();
    answered.resolve();
    const run = await started;
    await gate.arrived;
    reading.push(follow(late));
    await expect.poll(() => late.length).toBe(1);
    await expect.poll(() => early).toEqual(late);
    gate.open();
    await runs.wait(run.run_id, never);
    await expect.poll(() => late.length).toBe(2);
    await expect.poll(() => early).toEqual(late);
    leaving.abort();
    await Promise.all(reading);
  });
});
