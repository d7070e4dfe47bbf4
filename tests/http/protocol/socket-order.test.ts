import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { deliver, SocketPlaces } from "@millrace/engine/http/protocol/session/deliver";
import type { RecordPart } from "@millrace/engine/http/protocol/session/thread-record";

/** A batch of events with these seqs; the last one is the end of a run if that is given. */
function batch(seqs: number[], what: "amid a run" | "the end" = "amid a run"): RecordPart {
  const until = seqs.at(-1);
  const events = seqs.map((seq) => ({ method: "custom", namespace: [], timestamp: seq, seq, data: {} }));
  return { events, until, end: what === "the end" ? until : undefined };
}

/** An event stream whose batches arrive one by one. */
async function* record(...parts: (RecordPart | Promise<RecordPart>)[]): AsyncGenerator<RecordPart> {
  for (const part of parts) yield await part;
}

/** A socket that records events as `<subscription> <seq>`, and answers by the name of their subscription. */
function createSocket() {
  const sent: string[] = [];
  const places = new SocketPlaces();
  return {
    sent,
    subscribe(name: string, parts: AsyncIterable<RecordPart>, signal = new AbortController().signal): Promise<void> {
      const output = {
        answer: () => void sent.push(name),
        sendInTurn: async (text: string) =>
          void sent.push(`${name} ${/"seq":(?<seq>\d+)/u.exec(text)?.groups?.["seq"]}`),
      };
      const answer = () => {
        return { type: "success", id: 1, result: {}, meta: { thread_id: "", applied_through_seq: 0 } } as const;
      };
      return deliver(parts, { output, place: places.open(signal), answer });
    },
  };
}

/** Waits until all subscriptions are blocked. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

it("the end of an ended run is sent after the events that a slower subscription replays", async () => {
  const socket = createSocket();
  const read = Promise.withResolvers<RecordPart>();
  const fast = socket.subscribe("fast", record(batch([1, 2]), batch([9], "the end"), "caught up", "waits"));
  const slow = socket.subscribe("slow", record(read.promise, batch([9], "the end"), "caught up", "waits"));
  await settle();
  expect(socket.sent).toEqual(["fast", "fast 1", "fast 2"]);
  read.resolve(batch([1, 3]));
  await Promise.all([fast, slow]);
  expect(socket.sent.slice(3, 6)).toEqual(["slow", "slow 1", "slow 3"]);
  expect(socket.sent.slice(6).toSorted()).toEqual(["fast 9", "slow 9"]);
});

it("the end of an active run is sent after the events of a slower subscription", async () => {
  const socket = createSocket();
  const read = Promise.withResolvers<RecordPart>();
  const begins: RecordPart[] = ["caught up", "waits", "goes on", batch([1])];
  const fast = socket.subscribe("fast", record(...begins, batch([9], "the end"), "waits"));
  // It is not subscribed to the end itself.
  const slow = socket.subscribe("slow", record(...begins, read.promise, { events: [], until: 9, end: 9 }, "waits"));
  await settle();
  expect(socket.sent).not.toContain("fast 9");
  read.resolve(batch([3]));
  await Promise.all([fast, slow]);
  expect(socket.sent.slice(-2)).toEqual(["slow 3", "fast 9"]);
});

it("the end of a run does not wait for subscriptions that are idle, further on or ended", async () => {
  const socket = createSocket();
  const never = new Promise<never>(() => undefined);
  const leaving = new AbortController();
  const gone = new Promise<RecordPart>((resolve) => {
    leaving.signal.addEventListener("abort", () => resolve("waits"));
  });
  void socket.subscribe("idle", record("caught up", "waits", never));
  void socket.subscribe("further", record("caught up", batch([20]), never));
  const left = socket.subscribe("left", record(gone), leaving.signal);
  const reading = socket.subscribe("reading", record("caught up", batch([9], "the end"), batch([10])));
  await settle();
  expect(socket.sent).not.toContain("reading 9");
  leaving.abort();
  await Promise.all([left, reading]);
  expect(socket.sent.slice(-2)).toEqual(["reading 9", "reading 10"]);
});

it("subscriptions at the ends of different runs go on, also if one is ended there", async () => {
  const socket = createSocket();
  const leaving = new AbortController();
  const read = Promise.withResolvers<RecordPart>();
  const both = socket.subscribe("both", record("caught up", batch([5], "the end"), batch([9], "the end"), "waits"));
  const later = socket.subscribe("later", record("caught up", batch([9], "the end"), "waits"), leaving.signal);
  const slow = socket.subscribe("slow", record("caught up", batch([6]), read.promise));
  await settle();
  expect(socket.sent.filter((one) => one.includes(" "))).toEqual(["slow 6", "both 5"]);
  leaving.abort();
  await later;
  expect(socket.sent).not.toContain("both 9");
  read.resolve(batch([9], "the end"));
  await Promise.all([both, slow]);
  expect(socket.sent).toContain("both 9");
});
