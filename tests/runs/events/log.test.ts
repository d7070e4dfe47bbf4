import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { RunEvent } from "@millrace/engine/run-events";
import { idBlock, RunLog } from "@millrace/engine/runs/events/log";
import type { Run } from "@millrace/engine/storage/records";
import { createTestStorage } from "../../support/test-storage.ts";
import { runRecord, sessionRecord } from "../../contract/records.ts";
import { never, settle } from "../fixtures.ts";

async function createLog(patch: Partial<Run> = {}) {
  const storage = createTestStorage();
  const failures: unknown[] = [];
  const run = runRecord("run", "session", { event_mark: idBlock, ...patch });
  await storage.sessions.create(sessionRecord("session"));
  storage.rows.putRun(run);
  const log = new RunLog(storage.events, storage.attempt({ ...run, attempt: undefined }), run, (error) =>
    failures.push(error),
  );
  const emit = async (data: unknown): Promise<void> => {
    await log.room();
    log.emit({ event: "custom", namespace: [], data });
  };
  const stored = (): Promise<RunEvent[]> => storage.events.read("run", -1, 10_000);
  return { storage, stored, log, emit, failures };
}

async function ids(batches: AsyncIterable<RunEvent[]>): Promise<number[]> {
  const all: number[] = [];
  for await (const batch of batches) all.push(...batch.map(({ id }) => id));
  return all;
}

const upTo = (length: number): number[] => Array.from({ length }, (_, at) => at);

describe("the log of a run", () => {
  it("gives a live reader an event in the turn it is emitted, before it is stored", async () => {
    const { stored, log, emit } = await createLog();
    const reader = log.follow(-1, never);
    const first = reader.next();
    await emit("one");
    expect((await first).value).toMatchObject([{ id: 0, data: "one" }]);
    expect(await stored()).toEqual([]);
    log.close();
    expect((await reader.next()).done).toBe(true);
    await log.flush();
    expect(await stored()).toHaveLength(1);
  });

  it("stores what comes after a write that took longer than its group gathers", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const written = Promise.withResolvers<void>();
    const stored: unknown[] = [];
    const slow = {
      reserve: async () => undefined,
      append: async (events: RunEvent[]) => {
        await written.promise;
        stored.push(...events.map((event) => "data" in event && event.data));
      },
    };
    const log = new RunLog(createTestStorage().events, slow, runRecord("run", "session", { event_mark: idBlock }), () =>
      expect.unreachable(),
    );
    const emit = (data: string): void => log.emit({ event: "custom", namespace: [], data });
    emit("first");
    await vi.advanceTimersByTimeAsync(60);
    // The first one is being written; the next one's time comes meanwhile.
    emit("second");
    await vi.advanceTimersByTimeAsync(60);
    written.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(stored).toEqual(["first", "second"]);
    emit("third");
    await vi.advanceTimersByTimeAsync(60);
    expect(stored).toEqual(["first", "second", "third"]);
  });

  it("neither shows nor stores what is emitted while it is held, and loses nothing of it", async () => {
    const { stored, log, emit } = await createLog();
    await emit("before");
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    log.hold(first.promise);
    await emit("held");
    log.hold(second.promise);
    await emit("held, too");
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const batch of log.follow(-1, never))
        seen.push(...batch.map((event) => "data" in event && event.data));
    })();
    const flushed = log.flush();
    first.resolve();
    for (let turn = 0; turn < 5; turn++) await settle();
    expect([seen, await stored()]).toEqual([["before"], []]);
    second.resolve();
    await flushed;
    log.close();
    await reading;
    expect(seen).toEqual(["before", "held", "held, too"]);
    expect(await stored()).toHaveLength(3);
  });

  it("says when each event was emitted, and begins after everything that other runs have emitted", async () => {
    const first = await createLog();
    const before = Date.now();
    for (const at of upTo(3)) await first.emit(at);
    const second = await createLog();
    await second.emit("first");
    await second.emit("second");
    const times = async ({ stored, log }: Awaited<ReturnType<typeof createLog>>): Promise<number[]> => {
      await log.flush();
      log.close();
      return (await stored()).map(({ at }) => at ?? 0);
    };
    const [earlier, later] = [await times(first), await times(second)];
    expect(earlier[0]).toBeGreaterThanOrEqual(before);
    expect(earlier).toEqual(earlier.toSorted((a, b) => a - b));
    expect(later[0]).toBeGreaterThan(earlier.at(-1) ?? 0);
    expect(later[1]).toBeGreaterThanOrEqual(later[0] ?? 0);
  });

  it("stores events in groups", async () => {
    const { storage, log, emit } = await createLog();
    const sizes: number[] = [];
    storage.beforeWrite = (operation, events) => {
      if (operation === "append") sizes.push(events?.length ?? 0);
    };
    for (const at of upTo(100)) await emit(at);
    await log.flush();
    expect(sizes).toEqual([100]);
    log.close();
  });

  it("stores what is emitted 50 ms after the first of a group, however much comes meanwhile (EVENT-02)", async () => {
    const { stored, log, emit } = await createLog();
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    await emit("first");
    await vi.advanceTimersByTimeAsync(49);
    await emit("second");
    expect(await stored()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await stored()).toHaveLength(2);
    log.close();
  });

  it("reserves ids ahead in blocks, and never gives one that is not reserved", async () => {
    const { storage, log, emit } = await createLog();
    for (const at of upTo(2500)) {
      await emit(at);
      expect(storage.rows.run("run")?.event_mark).toBeGreaterThan(at);
    }
    await log.flush();
    log.close();
    expect(storage.rows.run("run")?.event_mark).toBe(3000);
  });

  it("begins above everything a former attempt may have used", async () => {
    const { storage, stored, log, emit } = await createLog({ attempt: 1, event_mark: 2000 });
    await emit("again");
    await log.flush();
    log.close();
    expect((await stored()).map(({ id }) => id)).toEqual([2000]);
    expect(storage.rows.run("run")?.event_mark).toBe(3000);
  });

  it("gives a reader that fell behind the stored events first", async () => {
    const { log, emit } = await createLog();
    for (const at of upTo(3000)) await emit(at);
    await log.flush();
    const reading = ids(log.follow(-1, never));
    for (const at of upTo(10)) await emit(at);
    await settle();
    log.close();
    expect(await reading).toEqual(upTo(3010));
  });

  it("says once that the store refuses, and stores everything when it takes it again", async () => {
    const { storage, stored, log, emit, failures } = await createLog();
    storage.failures.add("append");
    for (const at of upTo(1000)) await emit(at);
    await settle();
    expect(failures).toMatchObject([{ code: "storage_full" }]);
    storage.failures.clear();
    await log.flush();
    expect(await stored()).toHaveLength(1000);
    log.close();
  });

  it("holds no reader that has gone", async () => {
    const { log } = await createLog();
    const gone = new AbortController();
    const reading = ids(log.follow(-1, gone.signal));
    await settle();
    expect(log.waitingReaders).toBe(1);
    gone.abort();
    expect(await reading).toEqual([]);
    expect(log.waitingReaders).toBe(0);
    log.close();
  });

  it("shows every reader every event once and in order, however telling, storing and reading interleave", async () => {
    const step = fc.constantFrom("emit", "flush", "read", "turn");
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(700), async (steps, burst) => {
        const { log, emit } = await createLog();
        const readers: Promise<number[]>[] = [ids(log.follow(-1, never))];
        let count = 0;
        for (const name of steps) {
          if (name === "emit") {
            for (const at of upTo(burst)) await emit(at);
            count += burst;
          } else if (name === "flush") await log.flush();
          else if (name === "read" && readers.length < 4) readers.push(ids(log.follow(-1, never)));
          else await settle();
          if (count > 3000) break;
        }
        await log.flush();
        log.close();
        for (const reader of readers) expect(await reader).toEqual(upTo(count));
      }),
      { numRuns: 25 },
    );
  });
});
