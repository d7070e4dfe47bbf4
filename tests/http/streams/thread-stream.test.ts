import { afterAll, beforeAll, expect, test } from "vitest";
import { eventsOf, type ReadEvent } from "@millrace/testing/read-events";
import { openGate } from "../../support/test-graphs.ts";
import { isOneOfTwo, startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;
const ids = (events: ReadEvent[]): string[] => events.map(({ id }) => id ?? "");

/** Follows a thread; `take` reads until that many events have arrived. */
async function follow(threadId: string, headers: Record<string, string> = {}, query = "") {
  const response = await server.send("GET", `/threads/${threadId}/stream${query}`, undefined, headers);
  const events = eventsOf(response)[Symbol.asyncIterator]();
  return {
    response,
    async take(count: number): Promise<ReadEvent[]> {
      const taken: ReadEvent[] = [];
      while (taken.length < count) {
        const { value, done } = await events.next();
        if (done === true) throw new Error(`the stream ended after ${taken.length} events`);
        taken.push(value);
      }
      return taken;
    },
    rest: async (): Promise<ReadEvent[]> => {
      const all: ReadEvent[] = [];
      for (let next = await events.next(); next.done !== true; next = await events.next()) all.push(next.value);
      return all;
    },
    leave: async (): Promise<void> => {
      await events.return?.(undefined);
    },
  };
}

test("a thread's stream continues from run to run, and ids name the run and the event", async () => {
  const threadId = await newThread();
  const reader = await follow(threadId);
  expect(reader.response.headers.get("content-type")).toBe("text/event-stream");
  const first = await server.client.runs.create(threadId, "counter", { input: { value: 1 } });
  expect(ids(await reader.take(3))).toEqual([0, 1, 2].map((id) => `${first.run_id}.${id}`));
  const second = await server.client.runs.create(threadId, "failing", { input: { value: 1 } });
  const events = await reader.take(3);
  expect(ids(events)).toEqual([0, 1, 2].map((id) => `${second.run_id}.${id}`));
  expect(events.at(-1)).toMatchObject({ event: "error", data: { error: "RangeError" } });
  await reader.leave();
});

test("a reader that connects during a run receives all of it, and then the run queued behind it", async () => {
  const threadId = await newThread();
  const gate = crypto.randomUUID();
  const first = await server.client.runs.create(threadId, "gated", { input: { gate } });
  const second = await server.client.runs.create(threadId, "counter", {
    input: { value: 1 },
    multitaskStrategy: "enqueue",
  });
  await expect.poll(async () => (await server.client.runs.get(threadId, first.run_id)).status).toBe("running");
  const reader = await follow(threadId);
  const begin = await reader.take(2);
  openGate(gate);
  const events = [...begin, ...(await reader.take(4))];
  expect(ids(events)).toEqual([first, second].flatMap(({ run_id }) => [0, 1, 2].map((id) => `${run_id}.${id}`)));
  await reader.leave();
});

test("a reader that reconnects resumes after the last event, over the runs since", async () => {
  const threadId = await newThread();
  const runs = [];
  for (let at = 0; at < 3; at += 1) {
    const run = await server.client.runs.create(threadId, "counter", { input: { value: 1 } });
    await server.client.runs.join(threadId, run.run_id);
    runs.push(run.run_id);
  }
  const all = runs.flatMap((run) => [0, 1, 2].map((id) => `${run}.${id}`));
  const whole = await follow(threadId, { "last-event-id": "-1" });
  expect(ids(await whole.take(9))).toEqual(all);
  await whole.leave();
  for (let had = 0; had < 8; had += 1) {
    const reader = await follow(threadId, { "last-event-id": all[had] ?? "" });
    expect(ids(await reader.take(8 - had))).toEqual(all.slice(had + 1));
    await reader.leave();
  }
});

test("an unknown event id gives a gap event, and an invalid one is refused", async () => {
  const threadId = await newThread();
  const foreign = await server.client.runs.create(await newThread(), "counter", { input: { value: 1 } });
  const reader = await follow(threadId, { "last-event-id": `${foreign.run_id}.1` });
  // Sent at once, also if no run is active that would send more.
  expect(await reader.take(1)).toMatchObject([{ event: "gap", data: { run_id: foreign.run_id } }]);
  const run = await server.client.runs.create(threadId, "counter", { input: { value: 1 } });
  expect(ids(await reader.take(1))).toEqual([`${run.run_id}.0`]);
  await reader.leave();
  const response = await server.send("GET", `/threads/${threadId}/stream`, undefined, { "last-event-id": "7" });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("Last-Event-ID")]);
  const missing = await server.send("GET", `/threads/${crypto.randomUUID()}/stream`);
  expect(missing.status).toBe(404);
});

test("a run that is cancelled in the queue has an event, and one that is rolled back has none", async () => {
  const threadId = await newThread();
  const gate = crypto.randomUUID();
  const first = await server.client.runs.create(threadId, "gated", { input: { gate } });
  const waiting = await server.client.runs.create(threadId, "counter", {
    input: { value: 1 },
    multitaskStrategy: "enqueue",
    streamMode: ["custom"],
  });
  const reader = await follow(threadId);
  await server.client.runs.cancel(threadId, waiting.run_id, true);
  await server.client.runs.cancel(threadId, first.run_id, true, "rollback");
  const last = await server.client.runs.create(threadId, "counter", { input: { value: 1 } });
  await server.client.runs.join(threadId, last.run_id);
  const seen: string[] = [];
  while (seen.at(-1) !== `${last.run_id}.2`) seen.push(...ids(await reader.take(1)));
  expect(seen).toContain(`${waiting.run_id}.0`);
  await reader.leave();
});

test("the modes of a thread's stream select its events", async () => {
  const threadId = await newThread();
  const run = await server.client.runs.create(threadId, "counter", {
    input: { value: 1 },
    streamMode: ["values", "tasks"],
  });
  await server.client.runs.join(threadId, run.run_id);
  for (const [mode, names] of [
    ["lifecycle", ["metadata"]],
    ["state_update", ["metadata", "values", "values"]],
    ["tasks", ["metadata", "tasks", "tasks"]],
    ["run_modes", ["metadata", "values", "tasks", "tasks", "values"]],
    // As the official clients write several: comma-separated, repeated keys, a JSON array.
    ["values,tasks", ["metadata", "values", "tasks", "tasks", "values"]],
    ["values&stream_mode=tasks", ["metadata", "values", "tasks", "tasks", "values"]],
    ["lifecycle&stream_mode=tasks", ["metadata", "tasks", "tasks"]],
    [encodeURIComponent('["values","tasks"]'), ["metadata", "values", "tasks", "tasks", "values"]],
    [encodeURIComponent("[values"), ["metadata"]],
  ] as const) {
    const reader = await follow(threadId, { "last-event-id": "-1" }, `?stream_mode=${mode}`);
    const received = (await reader.take(names.length)).map(({ event }) => event ?? "");
    expect(received.toSorted()).toEqual(names.toSorted());
    await reader.leave();
  }
});

test("the official client joins a thread's stream, which ends when the thread is deleted", async () => {
  const threadId = await newThread();
  const joined = server.client.threads.joinStream(threadId);
  const first = joined.next();
  await expect
    .poll(async () => {
      await server.client.runs.wait(threadId, "counter", { input: { value: 1 } });
      return Promise.race([first, Promise.resolve(undefined)]);
    })
    .toMatchObject({ value: { event: "metadata" } });
  await joined.return(undefined);
  const reader = await follow(threadId);
  const rest = reader.rest();
  await server.client.threads.delete(threadId);
  expect(await rest).toEqual([]);
});

// Of two servers, the one without the run ends its readers at once: they come back at the other one.
test.skipIf(isOneOfTwo)("a thread's stream stays open until the runs of a stopping server have ended", async () => {
  const other = await startTestServer();
  const { thread_id: id } = await other.client.threads.create();
  const gate = crypto.randomUUID();
  await other.client.runs.create(id, "gated", { input: { gate }, streamMode: "values" });
  const events = eventsOf(await other.send("GET", `/threads/${id}/stream`));
  const [first, second] = [await events.next(), await events.next()];
  expect([first.value?.event, second.value?.event]).toEqual(["metadata", "values"]);
  const closed = other.close();
  openGate(gate);
  const values: unknown[] = [];
  const reading = async (): Promise<void> => {
    for await (const { data } of events) values.push(data);
  };
  await expect(reading()).rejects.toThrow("terminated");
  expect(values.at(-1)).toMatchObject({ passed: true });
  await closed;
  await other.remove();
});

test("a stopping server breaks a thread's stream off, so that clients reconnect at its Location", async () => {
  const other = await startTestServer();
  const { thread_id: id } = await other.client.threads.create();
  const response = await other.send("GET", `/threads/${id}/stream?stream_mode=lifecycle`);
  expect(response.headers.get("location")).toBe(`/threads/${id}/stream?stream_mode=lifecycle`);
  const ended = response.text().then(
    () => "in good order",
    (error: unknown) => String(error),
  );
  await other.close();
  expect(await ended).toContain("terminated");
  await other.remove();
});
