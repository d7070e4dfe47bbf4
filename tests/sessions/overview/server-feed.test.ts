import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  quietMilliseconds,
  ringSize,
  ServerFeed,
  type FeedEvent,
} from "@millrace/engine/sessions/overview/server-feed";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const nothing = { watch: () => Promise.resolve(), sessions: createSessions(), cluster: { id: 1 } };

/** The feed reads sessions only of what belongs to one. */
function createSessions(): ConstructorParameters<typeof ServerFeed>[0]["sessions"] {
  return new Proxy({} as ReturnType<typeof createSessions>, {
    get: () => () => Promise.reject(new Error("not asked")),
  });
}

function settings(id: string, value: number, what: "created" | "changed" | "deleted" = "changed") {
  return { type: "settings" as const, id, what, patch: { value } };
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

test("a thing is told at once, then once in a while with all that has come of it", async () => {
  const feed = new ServerFeed(nothing);
  const { from } = await feed.resume(undefined);
  feed.publish(settings("a", 1, "created"));
  feed.publish(settings("a", 2));
  feed.publish(settings("b", 1));
  feed.publish(settings("a", 3));
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
    feed.publish(settings("a", value));
    await vi.advanceTimersByTimeAsync(10);
  }
  await vi.advanceTimersByTimeAsync(quietMilliseconds);
  const ofA = (await read(feed, from)).slice(3);
  expect(ofA.length).toBeLessThanOrEqual(11);
  expect(ofA.at(-1)).toMatchObject({ patch: { value: 99 } });
});

test("what was made and is gone in a moment is told as gone; what is gone and made again as made", async () => {
  const feed = new ServerFeed(nothing);
  const { from } = await feed.resume(undefined);
  feed.publish(settings("a", 1));
  feed.publish(settings("a", 2, "created"));
  feed.publish(settings("a", 2, "deleted"));
  feed.publish(settings("b", 1));
  feed.publish(settings("b", 1, "deleted"));
  feed.publish(settings("b", 2, "created"));
  await vi.advanceTimersByTimeAsync(quietMilliseconds);
  expect((await read(feed, from)).slice(2)).toMatchObject([
    { id: "a", what: "deleted" },
    { id: "b", what: "created", patch: { value: 2 } },
  ]);
});

test("the newest changes are kept for readers that come back; one that is further behind reads anew", async () => {
  const feed = new ServerFeed(nothing);
  const { from } = await feed.resume(undefined);
  for (let index = 0; index < ringSize; index += 1) feed.publish(settings(`s${index}`, index));
  expect(await feed.resume(from)).toEqual({ from, isResumed: true });
  expect(await read(feed, from)).toHaveLength(ringSize);
  feed.publish(settings("one more", 1));
  expect(await feed.resume(from)).toEqual({ from: feed.head, isResumed: false });
  expect((await feed.resume(feed.head + 100)).isResumed).toBe(false);
  // A reader that is slow meets the same.
  expect(await read(feed, from)).toEqual([{ seq: feed.head, type: "resync" }]);
});

test("nobody listens to the storage before there is a reader, and nothing is kept", async () => {
  const watch = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const feed = new ServerFeed({ ...nothing, watch });
  feed.publish(settings("a", 1));
  expect(watch).not.toHaveBeenCalled();
  const { head } = feed;
  expect(await feed.resume(undefined)).toEqual({ from: head, isResumed: false });
  await feed.resume(undefined);
  expect(watch).toHaveBeenCalledTimes(1);
});

test("a number of another server that started at the same time is unknown, though both count the same changes", async () => {
  const [one, other] = [1, 2].map((id) => new ServerFeed({ ...nothing, cluster: { id } }));
  if (one === undefined || other === undefined) throw new Error("There are two.");
  await Promise.all([one.resume(undefined), other.resume(undefined)]);
  for (const feed of [one, other, other]) feed.publish(settings(crypto.randomUUID(), 1));
  expect(await other.resume(one.head)).toEqual({ from: other.head, isResumed: false });
  expect(await one.resume(one.head)).toEqual({ from: one.head, isResumed: true });
});
