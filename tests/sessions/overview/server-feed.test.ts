import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Change, ChangeListener } from "@millrace/engine/storage/changes";
import {
  quietMilliseconds,
  ringSize,
  ServerFeed,
  type FeedEvent,
} from "@millrace/engine/sessions/overview/server-feed";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A storage that reports what a test says, as tasks of one owner. */
function reporting(id = 1) {
  let listener: ChangeListener | undefined;
  const watch = vi.fn<Watch>(async (onChanges) => void (listener = onChanges));
  const feed = new ServerFeed({ watch, sessions: createSessions(), cluster: { id } });
  /** Reports a change; the feed has it when this resolves. */
  const report = async (task: string, value: number, what: Change["what"] = "changed"): Promise<void> => {
    const session = { ...ownerRow, session_id: "" };
    listener?.([{ type: "task", what, id: task, session_id: "", patch: { value }, session }]);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { feed, report, watch };
}

type Watch = ConstructorParameters<typeof ServerFeed>[0]["watch"];

const ownerRow = {
  owner: "ann",
  metadata: {},
  config: {},
  status: "idle" as const,
  interrupts: {},
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
};

/** The feed reads sessions only of what belongs to one. */
function createSessions(): ConstructorParameters<typeof ServerFeed>[0]["sessions"] {
  return new Proxy({} as ReturnType<typeof createSessions>, {
    get: () => () => Promise.reject(new Error("not asked")),
  });
}

/** What a reader gets from a place on, without waiting. */
async function read(feed: ServerFeed, from: number): Promise<FeedEvent[]> {
  const gone = new AbortController();
  const came: FeedEvent[] = [];
  const ended = (async () => {
    for await (const events of feed.follow(from, async () => true, gone.signal)) came.push(...events);
  })();
  await vi.advanceTimersByTimeAsync(0);
  for (let turn = 0; turn < 5_000 && came.at(-1)?.seq !== feed.head; turn += 1) await Promise.resolve();
  gone.abort();
  await ended;
  return came;
}

test("a change is sent at once, and those that follow at most once per interval, merged", async () => {
  const { feed, report } = reporting();
  const { from } = await feed.resume(undefined);
  await report("a", 1, "created");
  await report("a", 2);
  await report("b", 1);
  await report("a", 3);
  expect(await read(feed, from)).toMatchObject([
    { id: "a", what: "created", patch: { value: 1 } },
    { id: "b", patch: { value: 1 } },
  ]);
  await vi.advanceTimersByTimeAsync(quietMilliseconds);
  expect(await read(feed, from)).toMatchObject([
    { id: "a" },
    { id: "b" },
    { id: "a", what: "changed", patch: { value: 3 } },
  ]);
  for (let value = 0; value < 100; value += 1) {
    await report("a", value);
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(quietMilliseconds);
  const ofA = (await read(feed, from)).slice(3);
  expect(ofA.length).toBeLessThanOrEqual(11);
  expect(ofA.at(-1)).toMatchObject({ patch: { value: 99 } });
});

test("what is created and deleted within an interval is sent as deleted; what is deleted and created again as created", async () => {
  const { feed, report } = reporting();
  const { from } = await feed.resume(undefined);
  await report("a", 1);
  await report("a", 2, "created");
  await report("a", 2, "deleted");
  await report("b", 1);
  await report("b", 1, "deleted");
  await report("b", 2, "created");
  await vi.advanceTimersByTimeAsync(quietMilliseconds);
  expect((await read(feed, from)).slice(2)).toMatchObject([
    { id: "a", what: "deleted" },
    { id: "b", what: "created", patch: { value: 2 } },
  ]);
});

test("the newest changes are kept for readers that come back; one that is further behind reads anew", async () => {
  const { feed, report } = reporting();
  const { from } = await feed.resume(undefined);
  for (let index = 0; index < ringSize; index += 1) await report(`s${index}`, index);
  expect(await feed.resume(from)).toEqual({ from, isResumed: true });
  expect(await read(feed, from)).toHaveLength(ringSize);
  await report("one more", 1);
  expect(await feed.resume(from)).toEqual({ from: feed.head, isResumed: false });
  expect((await feed.resume(feed.head + 100)).isResumed).toBe(false);
  // A reader that is slow meets the same.
  expect(await read(feed, from)).toEqual([{ seq: feed.head, type: "resync" }]);
});

test("of several notices that changes were missed, a reader that was there gets each, and one that comes back gets one", async () => {
  const { feed, watch } = reporting();
  const { from } = await feed.resume(undefined);
  const seen: FeedEvent[] = [];
  for (let place = from, times = 0; times < 3; times += 1) {
    watch.mock.calls[0]?.[1]();
    await vi.advanceTimersByTimeAsync(5_000);
    seen.push(...(await read(feed, place)));
    place = feed.head;
  }
  expect(seen.map(({ type }) => type)).toEqual(["resync", "resync", "resync"]);
  expect(await read(feed, from)).toEqual([{ seq: feed.head, type: "resync" }]);
});

test("the storage has no listener before there is a reader, and no change is kept", async () => {
  const { feed, report, watch } = reporting();
  await report("a", 1);
  expect(watch).not.toHaveBeenCalled();
  const { head } = feed;
  expect(await feed.resume(undefined)).toEqual({ from: head, isResumed: false });
  await feed.resume(undefined);
  expect(watch).toHaveBeenCalledTimes(1);
});

test("a number of another server that started at the same time is unknown, though both count the same changes", async () => {
  const [one, other] = [reporting(1), reporting(2)];
  await Promise.all([one.feed.resume(undefined), other.feed.resume(undefined)]);
  for (const { report } of [one, other, other]) await report(crypto.randomUUID(), 1);
  expect(await other.feed.resume(one.feed.head)).toEqual({ from: other.feed.head, isResumed: false });
  expect(await one.feed.resume(one.feed.head)).toEqual({ from: one.feed.head, isResumed: true });
});
