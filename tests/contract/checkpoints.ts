import { setImmediate as nextTurn } from "node:timers/promises";
import { emptyCheckpoint, type BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import type { RunEvent } from "@millrace/engine/run-events";
import type { UnstoredEvents } from "@millrace/engine/storage/attempt-store";
import { sampleEvents } from "./runs/events.ts";
import { runRecord, sessionRecord, type StorageFixture, writer } from "./records.ts";

const metadata = { source: "loop" as const, step: 0, parents: {} };
const place = { configurable: { thread_id: "s1", checkpoint_ns: "", run_id: "r1" } };
const first = "00000000-0000-6000-8000-000000000001";
const second = "00000000-0000-6000-8000-000000000002";

const outcome = { status: "success", session_status: "idle", interrupts: {} } as const;

/** A value that cannot be stored. */
class Broken {
  toJSON(): never {
    throw new Error("unwritable");
  }
}

/** Events of a run that are not yet stored: the next write stores them, and they are kept when that write fails. */
function createUnstored(): UnstoredEvents & { report(...events: RunEvent[]): void; left: RunEvent[] } {
  const left: RunEvent[] = [];
  return {
    left,
    report: (...events) => left.push(...events),
    async flushWith(write) {
      const events = [...left];
      const result = await write(events, []);
      left.splice(0, events.length);
      return result;
    },
  };
}

/** A checkpoint stores the events sent before it in its own transaction (reliability E2). */
export function describeCheckpoints(fixture: StorageFixture): void {
  async function newRun(): Promise<void> {
    await fixture.storage.sessions.create(sessionRecord("s1"));
    await fixture.storage.runs.admit(runRecord("r1", "s1"));
    await fixture.storage.runs.claim("s1");
  }
  const put = (saver: BaseCheckpointSaver, id: string) => saver.put(place, { ...emptyCheckpoint(), id }, metadata, {});
  const newest = async () => (await fixture.storage.checkpointer.getTuple(place))?.checkpoint.id;
  const ids = async () => (await fixture.storage.events.read("r1", -1, 100)).map(({ id }) => id);

  describe("the checkpointer of a run", () => {
    it("stores events in one transaction with the next checkpoint, each once", async () => {
      await newRun();
      const unstored = createUnstored();
      const saver = writer(fixture.storage, "r1", 1).checkpointer(unstored);
      const events = sampleEvents();
      unstored.report(...events.slice(0, 5));
      await put(saver, first);
      expect(await ids()).toEqual([0, 1, 2, 3, 4]);
      await put(saver, second);
      expect(await ids()).toEqual([0, 1, 2, 3, 4]);
      unstored.report(...events.slice(5));
      const written = { configurable: { ...place.configurable, checkpoint_id: second } };
      await saver.putWrites(written, [["answer", 42]], "task");
      await fixture.reopen();
      expect(await fixture.storage.events.read("r1", -1, 100)).toEqual(events);
      const tuple = await fixture.storage.checkpointer.getTuple(place);
      expect(tuple?.checkpoint.id).toBe(second);
      expect(tuple?.pendingWrites).toEqual([["task", "answer", 42]]);
    });

    it("reads what other checkpointers wrote, and they read what it wrote", async () => {
      await newRun();
      const saver = writer(fixture.storage, "r1", 1).checkpointer(createUnstored());
      await put(fixture.storage.checkpointer, first);
      expect((await saver.getTuple(place))?.checkpoint.id).toBe(first);
      await put(saver, second);
      expect(await newest()).toBe(second);
      const listed = await Array.fromAsync(fixture.storage.checkpointer.list(place));
      expect(listed.map(({ checkpoint }) => checkpoint.id)).toEqual([second, first]);
    });

    it("writes neither checkpoint nor events for an attempt that was superseded", async () => {
      await newRun();
      const unstored = createUnstored();
      const saver = writer(fixture.storage, "r1", 1).checkpointer(unstored);
      await put(saver, first);
      await fixture.storage.runs.reclaim("r1");
      // The same without events.
      await expect(put(saver, second)).rejects.toMatchObject({ code: "conflict" });
      unstored.report(...sampleEvents());
      await expect(put(saver, second)).rejects.toMatchObject({ code: "conflict" });
      const written = { configurable: { ...place.configurable, checkpoint_id: first } };
      await expect(saver.putWrites(written, [["answer", 42]], "task")).rejects.toMatchObject({ code: "conflict" });
      expect(await newest()).toBe(first);
      expect((await fixture.storage.checkpointer.getTuple(place))?.pendingWrites).toEqual([]);
      expect(await ids()).toEqual([]);
      expect(unstored.left).toEqual(sampleEvents());
    });

    it("ignores writes after close, which waits for the writes in flight", async () => {
      await newRun();
      const gate = Promise.withResolvers<void>();
      const unstored = createUnstored();
      const slow: UnstoredEvents = {
        flushWith: async (write) => {
          await gate.promise;
          return await unstored.flushWith(write);
        },
      };
      const saver = writer(fixture.storage, "r1", 1).checkpointer(slow);
      const at = (id: string) => ({ configurable: { ...place.configurable, checkpoint_id: id } });
      const begun = [put(saver, first), saver.putWrites(at(first), [["answer", 42]], "task")];
      let isClosed = false;
      const closing = saver.close().then(() => (isClosed = true));
      expect(await put(saver, second)).toMatchObject({ configurable: { checkpoint_id: second } });
      await saver.putWrites(at(first), [["late", 1]], "late");
      expect(isClosed).toBe(false);
      gate.resolve();
      await Promise.all([...begun, closing]);
      expect(await newest()).toBe(first);
      const kept = await fixture.storage.checkpointer.getTuple(place);
      expect(kept?.pendingWrites).toEqual([["task", "answer", 42]]);
    });

    it("stores the valid writes that arrive while another write is in flight", async () => {
      await newRun();
      const gate = Promise.withResolvers<void>();
      const unstored = createUnstored();
      const slow: UnstoredEvents = {
        flushWith: async (write) => {
          await gate.promise;
          return await unstored.flushWith(write);
        },
      };
      const saver = writer(fixture.storage, "r1", 1).checkpointer(slow);
      const at = { configurable: { ...place.configurable, checkpoint_id: first } };
      const begun: Promise<unknown>[] = [put(saver, first)];
      for (const [task, value] of Object.entries({ good: 42, bad: new Broken(), other: 43 })) {
        begun.push(saver.putWrites(at, [["answer", value]], task));
        await nextTurn();
      }
      begun.push(put(saver, second));
      gate.resolve();
      const ends = await Promise.allSettled(begun);
      expect(ends.map(({ status }) => status)).toEqual([
        "fulfilled",
        "fulfilled",
        "rejected",
        "fulfilled",
        "fulfilled",
      ]);
      expect(await newest()).toBe(second);
      const kept = await fixture.storage.checkpointer.getTuple(at);
      expect(kept?.pendingWrites?.toSorted()).toEqual([
        ["good", "answer", 42],
        ["other", "answer", 43],
      ]);
    });

    it("is followed by the end of the run, which stores the last events in the same write", async () => {
      await newRun();
      const unstored = createUnstored();
      const attempt = writer(fixture.storage, "r1", 1);
      await put(attempt.checkpointer(unstored), first);
      unstored.report(...sampleEvents());
      expect(await attempt.finish(outcome, unstored)).toMatchObject({ status: "success", attempt: 1 });
      expect(unstored.left).toEqual([]);
      expect(await attempt.finish(outcome, unstored)).toBeUndefined();
      await fixture.reopen();
      expect(await fixture.storage.events.read("r1", -1, 100)).toEqual(sampleEvents());
      expect(await fixture.storage.runs.get("r1")).toMatchObject({ status: "success" });
    });

    it("stores nothing of the end of an attempt that was superseded", async () => {
      await newRun();
      const unstored = createUnstored();
      await fixture.storage.runs.reclaim("r1");
      unstored.report(...sampleEvents());
      expect(await writer(fixture.storage, "r1", 1).finish(outcome, unstored)).toBeUndefined();
      expect(await ids()).toEqual([]);
      expect(await fixture.storage.runs.get("r1")).toMatchObject({ status: "running", attempt: 2 });
    });

    it("keeps the events for the next write when a checkpoint cannot be written", async () => {
      await newRun();
      const unstored = createUnstored();
      const saver = writer(fixture.storage, "r1", 1).checkpointer(unstored);
      unstored.report(...sampleEvents().slice(0, 2));
      const broken = new Broken();
      const unwritable = { ...emptyCheckpoint(), id: first, channel_values: { broken } };
      await expect(saver.put(place, unwritable, metadata, { broken: 1 })).rejects.toThrow("unwritable");
      expect(await ids()).toEqual([]);
      await put(saver, second);
      expect(await ids()).toEqual([0, 1]);
    });
  });
}
