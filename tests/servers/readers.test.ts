import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startReceiver } from "@millrace/testing/webhook-receiver";
import { eventsOf, readEvents, type ReadEvent } from "@millrace/testing/read-events";
import { startPostgres, type TestPostgres } from "../support/processes/postgres.ts";
import { command, isEnd, openEvents, type WireEvent } from "../support/requests/protocol-client.ts";
import { openGate } from "../support/test-graphs.ts";
import { rowsOf, startTestServer, type TestServer } from "../support/test-server.ts";

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.stop());

const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

/** Two servers on one database. */
async function startBoth(changes: Parameters<typeof startTestServer>[0] = {}): Promise<[TestServer, TestServer]> {
  const database = (await postgres?.create()) ?? "";
  const start = async (): Promise<TestServer> => {
    const server = await startTestServer({ leaseSeconds: 60, ...changes, database });
    opened.push(() => server.remove());
    return server;
  };
  return [await start(), await start()];
}

/** A run at A that has written half of its events, and waits at its gate. */
async function startFlood({ client }: TestServer, events = 200) {
  const gate = crypto.randomUUID();
  const { thread_id } = await client.threads.create();
  const input = { events, size: 20, gate };
  const { run_id } = await client.runs.create(thread_id, "flood", { input, streamMode: ["custom"] });
  return { gate, thread_id, run_id, path: `/threads/${thread_id}/runs/${run_id}/stream?stream_mode=custom` };
}

const places = (events: readonly ReadEvent[]): unknown[] =>
  events.flatMap(({ event, data }) =>
    event === "custom" && typeof data === "object" && data !== null && "at" in data ? [data.at] : [],
  );
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

describe.each([
  ["with notifications", {}],
  ["by polling, without notifications", { databaseListenUrl: "postgres://unknown@127.0.0.1:1/none" }],
])("readers at another server than their run, %s", (_name, changes) => {
  it("receive all its events, in order and once, to its end", async () => {
    const [a, b] = await startBoth(changes);
    const { gate, path } = await startFlood(a);
    const streams = await Promise.all([b.send("GET", path), b.send("GET", path), a.send("GET", path)]);
    const read = streams.map(readEvents);
    openGate(gate);
    for (const events of await Promise.all(read)) expect(places(events)).toEqual(upTo(200));
  });

  it("reconnect after their last event id, at either server", async () => {
    const [a, b] = await startBoth(changes);
    const { gate, path } = await startFlood(a);
    const seen: ReadEvent[] = [];
    // They change the server after every twentieth event; the last one stays.
    for (let turn = 0; ; turn += 1) {
      const last = seen.at(-1)?.id;
      const stream = await (turn % 2 === 0 ? b : a).send("GET", path, undefined, last ? { "last-event-id": last } : {});
      let count = 0;
      for await (const event of eventsOf(stream)) {
        seen.push(event);
        count += 1;
        if (count === 20) break;
      }
      if (count < 20) break;
      if (turn === 3) openGate(gate);
    }
    expect(places(seen)).toEqual(upTo(200));
  });

  it("reconnect after an event that was not yet stored, without a replay of the whole log", async () => {
    const [a, b] = await startBoth(changes);
    const { gate, path } = await startFlood(a);
    const first = await a.send("GET", path);
    const received: ReadEvent[] = [];
    for await (const event of eventsOf(first)) if (received.push(event) === 101) break;
    // A reader that received events which are not yet stored looks like this to the other server.
    const ahead = Number(received.at(-1)?.id) + 10;
    const read = readEvents(await b.send("GET", path, undefined, { "last-event-id": String(ahead) }));
    await expect.poll(async () => (await b.client.runs.list(path.split("/")[2] ?? ""))[0]?.status).toBe("running");
    openGate(gate);
    const events = await read;
    expect(events.map(({ event }) => event)).not.toContain("gap");
    expect(Number(events[0]?.id)).toBe(ahead + 1);
    expect(places(events).at(-1)).toBe(199);
  });

  it("follow the thread by the event protocol: a command to one server, its events at the other, and from where they left", async () => {
    const [a, b] = await startBoth(changes);
    const thread = crypto.randomUUID();
    const gate = crypto.randomUUID();
    const filter = { channels: ["custom", "lifecycle"] };
    const early = await openEvents(b, thread, filter);
    const input = { events: 60, size: 20, gate };
    expect(await command(a, thread, "run.start", { assistant_id: "flood", input })).toMatchObject({ type: "success" });
    const Custom = z.object({ payload: z.object({ at: z.number() }) });
    const placeOf = ({ params }: WireEvent): number | undefined => Custom.safeParse(params.data).data?.payload.at;
    const begun = await early.until((event) => placeOf(event) === 9);
    await early.leave();
    const since = begun.at(-1)?.seq;
    const readers = await Promise.all([
      openEvents(a, thread, { ...filter, since }),
      openEvents(b, thread, { ...filter, since }),
    ]);
    openGate(gate);
    const ends = await Promise.all(readers.map((reader) => reader.until(isEnd)));
    for (const reader of readers) await reader.leave();
    for (const events of ends) expect([...begun, ...events].flatMap((event) => placeOf(event) ?? [])).toEqual(upTo(60));
    expect(ends.map((events) => events.map(({ seq }) => seq))[1]).toEqual(ends[0]?.map(({ seq }) => seq));
  });

  it("receive the rest of a stateless run whose first reader has gone", async () => {
    const [a, b] = await startBoth(changes);
    const gate = crypto.randomUUID();
    const input = { events: 20, size: 20, gate };
    const body = { assistant_id: "flood", input, stream_mode: ["custom"], on_disconnect: "continue" };
    const first = await a.send("POST", "/runs/stream", body);
    const [run] = await rowsOf(a.config, "SELECT run_id FROM runs");
    const second = await b.send("GET", `/runs/${z.object({ run_id: z.string() }).parse(run).run_id}/stream`);
    await first.body?.cancel();
    openGate(gate);
    await expect.poll(() => rowsOf(a.config, "SELECT status FROM runs")).toEqual([{ status: "success" }]);
    expect(places(await readEvents(second))).toEqual(upTo(20));
  });

  it("wait for its end, join it, and read its state", async () => {
    const [a, b] = await startBoth(changes);
    const gate = crypto.randomUUID();
    const { thread_id } = await a.client.threads.create();
    const { run_id } = await a.client.runs.create(thread_id, "gated", { input: { gate } });
    await expect.poll(async () => (await b.client.runs.get(thread_id, run_id)).status).toBe("running");
    const ends = Promise.all([b.client.runs.join(thread_id, run_id), a.client.runs.join(thread_id, run_id)]);
    openGate(gate);
    expect(await ends).toEqual([expect.objectContaining({ passed: true }), expect.objectContaining({ passed: true })]);
    expect((await b.client.runs.get(thread_id, run_id)).status).toBe("success");
  });

  it("of a thread receive the runs that start there, one after the other", async () => {
    const [a, b] = await startBoth(changes);
    const { thread_id } = await a.client.threads.create();
    const reading = new AbortController();
    const seen: ReadEvent[] = [];
    const stream = await fetch(`${b.url}/threads/${thread_id}/stream`, { signal: reading.signal });
    const read = (async () => {
      for await (const event of eventsOf(stream)) seen.push(event);
    })().catch(() => undefined);
    for (let run = 0; run < 3; run += 1) {
      const { run_id } = await a.client.runs.create(thread_id, "flood", {
        input: { events: 3 },
        streamMode: ["custom"],
      });
      await a.client.runs.join(thread_id, run_id);
    }
    await expect.poll(() => places(seen).length).toBe(9);
    expect(places(seen)).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2]);
    reading.abort();
    await read;
  });
});

it("a reader at a stopping server that does not have the run is cut off at once, and goes on at the other one", async () => {
  const [a, b] = await startBoth();
  const { gate, path } = await startFlood(a);
  const seen: ReadEvent[] = [];
  const stream = await b.send("GET", path);
  const end = (async () => {
    for await (const event of eventsOf(stream)) seen.push(event);
  })().catch((error: unknown) => error);
  await expect.poll(() => places(seen).length).toBe(100);
  await b.close();
  expect(await end).toMatchObject({ message: "terminated" });
  openGate(gate);
  const rest = await readEvents(await a.send("GET", path, undefined, { "last-event-id": seen.at(-1)?.id ?? "" }));
  expect(places([...seen, ...rest])).toEqual(upTo(200));
});

it("every server knows a pending run's place in the queue, and the progress of a stop", async () => {
  const [a, b] = await startBoth();
  const gate = crypto.randomUUID();
  const { thread_id } = await a.client.threads.create();
  await a.client.runs.create(thread_id, "gated", { input: { gate } });
  const body = { assistant_id: "gated", input: { gate }, multitask_strategy: "enqueue" };
  const answers = [
    await a.send("POST", `/threads/${thread_id}/runs`, body),
    await b.send("POST", `/threads/${thread_id}/runs`, body),
  ];
  expect(answers.map(({ headers }) => headers.get("x-queue-position"))).toEqual(["1", "2"]);
  const status = await (await b.send("GET", `/threads/${thread_id}/status`)).json();
  expect(status).toMatchObject({ stop_state: "running", is_generating: true, can_stop: true, queue_length: 2 });
  openGate(gate);
});

it("each webhook is sent once, by any of the servers", async () => {
  const receiver = await startReceiver();
  opened.push(() => receiver.close());
  const [a, b] = await startBoth({ webhooks: { allowed: [receiver.host], secret: undefined } });
  const runs = upTo(40).map(async (number) => {
    const { client } = number % 2 === 0 ? a : b;
    const { thread_id } = await client.threads.create();
    return await client.runs.create(thread_id, "counter", { input: { value: number }, webhook: receiver.url });
  });
  const ids = (await Promise.all(runs)).map(({ run_id }) => run_id);
  await expect.poll(() => receiver.received.length).toBe(40);
  expect(receiver.received.map(({ headers }) => String(headers["webhook-id"])).toSorted()).toEqual(ids.toSorted());
});
