import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import type { Cron } from "@millrace/engine/storage/record-stores";
import { cronsOf } from "../../support/requests/both-sdks.ts";
import { openStorageOf, startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const yearly = "0 0 1 1 *";
/** A minute of each hour that is half an hour away, so that no date comes while a test runs. */
const minute = (new Date().getUTCMinutes() + 30) % 60;
const hourly = `${minute} * * * *`;
const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u);
const ask = async (method: string, path: string, body?: unknown): Promise<[number, string]> => {
  const response = await server.send(method, path, body);
  return [response.status, await response.text()];
};
/** Fields that the SDK's type of a new cron lacks. */
const whole = (cron: object): Record<string, unknown> => ({ ...cron });

describe("a cron", () => {
  it("is created with all its fields, for new threads or for one", async () => {
    const { thread_id } = await server.client.threads.create();
    const payload = {
      schedule: "30 9 * * 1-5",
      timezone: "Europe/Berlin",
      endTime: "2999-01-01T01:00:00+01:00",
      input: { value: 1 },
      context: { a: 1 },
      config: { configurable: { b: 2 } },
      metadata: { note: "x" },
      interruptBefore: ["add"],
      multitaskStrategy: "reject" as const,
      streamMode: ["updates" as const],
    };
    const expected = {
      cron_id: expect.any(String),
      assistant_id: expect.stringMatching(/-/u),
      user_id: null,
      schedule: "30 9 * * 1-5",
      timezone: "Europe/Berlin",
      end_time: "2999-01-01T00:00:00.000Z",
      payload: {
        assistant_id: expect.stringMatching(/-/u),
        input: { value: 1 },
        context: { a: 1 },
        config: { configurable: { b: 2 } },
        interrupt_before: ["add"],
        multitask_strategy: "reject",
        stream_mode: ["updates"],
      },
      metadata: { note: "x" },
      enabled: true,
      on_run_completed: "delete",
      next_run_date: date,
      created_at: date,
      updated_at: date,
    };
    const alone = await cronsOf(server).create("counter", { ...payload, onRunCompleted: "delete" });
    expect(alone).toEqual({ ...expected, thread_id: null });
    const ofThread = await cronsOf(server).createForThread(thread_id, "counter", payload);
    expect(ofThread).toEqual({ ...expected, thread_id });
    expect(new Date(alone.next_run_date).getTime()).toBeGreaterThan(Date.now());
  });

  it("starts a run on request, in its thread or in a new one, and keeps its dates", async () => {
    const { thread_id } = await server.client.threads.create();
    const crons = cronsOf(server);
    const fields = { schedule: yearly, input: { value: 1 }, metadata: { note: "x" } };
    const begin = async ({ cron_id }: { cron_id: string }): Promise<{ run_id: string; thread_id: string }> => {
      const [status, text] = await ask("POST", `/runs/crons/${cron_id}/run`);
      expect([status, JSON.parse(text)]).toMatchObject([200, { metadata: { note: "x", cron_id, cron_date: date } }]);
      return JSON.parse(text) as { run_id: string; thread_id: string }; // what the answer has was just checked
    };
    const ofThread = await crons.createForThread(thread_id, "counter", fields);
    const alone = await crons.create("counter", { ...fields, onRunCompleted: "delete" });
    await crons.update(alone.cron_id, { enabled: false });
    const runs = [await begin(ofThread), await begin(alone)];
    expect(runs[0]?.thread_id).toBe(thread_id);
    for (const run of runs) {
      await server.client.runs.join(run.thread_id, run.run_id);
      expect((await server.client.threads.getState(run.thread_id)).values).toMatchObject({ value: 2 });
    }
    const found = (await crons.search({ limit: 100 })) as unknown as Cron[]; // the wire's fields, as the storage has them
    expect(found.find(({ cron_id }) => cron_id === ofThread.cron_id)?.next_run_date).toBe(ofThread.next_run_date);
    expect((await ask("POST", `/runs/crons/${crypto.randomUUID()}/run`))[0]).toBe(404);
    await server.client.threads.delete(thread_id);
    await crons.delete(alone.cron_id);
  });

  it("has dates that can be asked for before there is one", async () => {
    const [status, text] = await ask("POST", "/crons/preview", {
      schedule: "30 9 1 1 *",
      timezone: "Asia/Tokyo",
      end_time: "2090-01-01T00:30:00Z",
    });
    const dates = (JSON.parse(text) as { dates: string[] }).dates; // the answer's shape is described
    expect([status, dates.length]).toEqual([200, 5]);
    for (const one of dates) expect(one).toMatch(/-01-01T00:30:00.000Z$/u);
    expect((await ask("POST", "/crons/preview", { schedule: "61 * * * *" }))[0]).toBe(400);
  });

  it("is updated field by field, and its next date with it", async () => {
    const { cron_id, next_run_date } = await cronsOf(server).create("counter", {
      schedule: yearly,
      input: { value: 1 },
      metadata: { a: 1 },
    });
    const crons = cronsOf(server);
    const other = await crons.update(cron_id, { input: { value: 2 }, metadata: { b: 2 } });
    expect(other).toMatchObject({ next_run_date, payload: { input: { value: 2 } }, metadata: { a: 1, b: 2 } });
    const moved = whole(await crons.update(cron_id, { schedule: "0 0 1 6 *", timezone: "Asia/Tokyo" }));
    expect(moved["next_run_date"]).toMatch(/-05-31T15:00:00/u);
    expect(whole(await crons.update(cron_id, { enabled: false }))).toMatchObject({
      enabled: false,
      next_run_date: null,
    });
    expect(await crons.update(cron_id, { enabled: true })).toMatchObject({ enabled: true });
    expect(await crons.update(cron_id, { endTime: "2020-01-01T00:00:00Z" })).toMatchObject({ next_run_date: null });
    expect(await crons.update(cron_id, { endTime: null })).toMatchObject({
      end_time: null,
      next_run_date: moved["next_run_date"],
    });
    const [status, text] = await ask("PATCH", `/runs/crons/${cron_id}`, { assistant_id: "mirror", timezone: null });
    expect([status, JSON.parse(text)]).toEqual([
      200,
      expect.objectContaining({ timezone: null, payload: { ...other.payload, assistant_id: expect.any(String) } }),
    ]);
    expect(JSON.parse(text).assistant_id).not.toBe(other.assistant_id);
  });

  it("is found, counted and deleted", async () => {
    const metadata = { of: crypto.randomUUID() };
    const { thread_id } = await server.client.threads.create();
    const crons = cronsOf(server);
    const first = await crons.create("counter", { schedule: yearly, metadata });
    const second = await crons.createForThread(thread_id, "mirror", { schedule: yearly, metadata, enabled: false });
    const ids = async (query: Parameters<typeof crons.search>[0]): Promise<string[]> =>
      (await crons.search({ metadata, ...query })).map(({ cron_id }) => cron_id);
    expect(await ids({})).toEqual([second.cron_id, first.cron_id]);
    expect(await ids({ assistantId: first.assistant_id })).toEqual([first.cron_id]);
    expect(await ids({ assistantId: "counter" })).toEqual([first.cron_id]);
    expect(await ids({ assistantId: "unknown" })).toEqual([]);
    expect(await ids({ threadId: thread_id })).toEqual([second.cron_id]);
    expect(await ids({ enabled: true })).toEqual([first.cron_id]);
    expect(await ids({ sortBy: "created_at", sortOrder: "asc", limit: 1 })).toEqual([first.cron_id]);
    expect(await crons.search({ metadata, limit: 1, select: ["cron_id"] })).toEqual([{ cron_id: second.cron_id }]);
    const paged = await server.send("POST", "/runs/crons/search", { metadata, limit: 1 });
    expect([paged.headers.get("x-pagination-total"), paged.headers.get("x-pagination-next")]).toEqual(["2", "1"]);
    expect(await crons.count({ metadata })).toBe(2);
    expect(await crons.count({ metadata, threadId: thread_id })).toBe(1);
    await crons.delete(first.cron_id);
    await server.client.threads.delete(thread_id);
    expect(await crons.count({ metadata })).toBe(0);
    expect(await ask("DELETE", `/runs/crons/${first.cron_id}`)).toEqual([404, `Cron ${first.cron_id} not found`]);
  });

  it.each([
    [{ assistant_id: "unknown", schedule: yearly }, 404, 'No assistant found for "unknown"'],
    [{ assistant_id: "counter" }, 400, "ZodError"],
    [{ schedule: yearly }, 400, "ZodError"],
    [{ assistant_id: "counter", schedule: "soon" }, 400, "expected five fields"],
    [{ assistant_id: "counter", schedule: "* * * * * *" }, 400, "ZodError"],
    [{ assistant_id: "counter", schedule: "0 0 30 2 *" }, 400, "no date of it lies between now and end_time"],
    [{ assistant_id: "counter", schedule: yearly, timezone: "Mars/Base" }, 400, "expected an IANA time zone"],
    [{ assistant_id: "counter", schedule: yearly, end_time: "2020-01-01T00:00:00Z" }, 400, "no date of it lies"],
    [{ assistant_id: "counter", schedule: yearly, end_time: "tomorrow" }, 400, "ZodError"],
    [{ assistant_id: "counter", schedule: yearly, on_run_completed: "burn" }, 400, "ZodError"],
    [{ assistant_id: "counter", schedule: yearly, config: { recursion_limit: -1 } }, 400, "ZodError"],
  ])("of %j is %d", async (body, status, text) => {
    expect(await ask("POST", "/runs/crons", body)).toEqual([status, expect.stringContaining(text)]);
  });

  it("of an unknown thread or with an unknown id is 404", async () => {
    const id = crypto.randomUUID();
    const body = { assistant_id: "counter", schedule: yearly };
    expect(await ask("POST", `/threads/${id}/runs/crons`, body)).toEqual([404, `Thread with ID ${id} not found`]);
    for (const [method, change] of [
      ["PATCH", { enabled: false }],
      ["DELETE", undefined],
    ] as const) {
      expect(await ask(method, `/runs/crons/${id}`, change)).toEqual([404, `Cron ${id} not found`]);
      expect((await ask(method, "/runs/crons/soon", change))[0]).toBe(400);
    }
    const { cron_id } = await cronsOf(server).create("counter", { schedule: yearly });
    expect(await ask("PATCH", `/runs/crons/${cron_id}`, { schedule: "soon" })).toEqual([
      400,
      expect.stringContaining("schedule"),
    ]);
    expect(await ask("PATCH", `/runs/crons/${cron_id}`, { assistant_id: "unknown" })).toEqual([
      404,
      expect.stringContaining("No assistant found"),
    ]);
  });
});

describe("a cron that is due", () => {
  beforeEach(() =>
    server.client.crons
      .search({ limit: 100 })
      .then((all) => Promise.all(all.map(({ cron_id }) => server.client.crons.delete(cron_id)))),
  );

  /** Stops the server, changes a cron in its database, and starts it again. */
  async function whileDown(cronId: string, change: Partial<Cron>): Promise<void> {
    await server.close();
    const storage = await openStorageOf(server.config);
    await storage.crons.update(cronId, change);
    await storage.close();
    server = await server.restart();
  }
  /** The last date of `hourly`, minus this number of hours. */
  const hoursAgo = (hours: number): string => {
    const past = minute * 60_000;
    return new Date(Math.floor((Date.now() - past) / 3_600_000 - hours) * 3_600_000 + past).toISOString();
  };

  test("runs on its thread; of the dates missed during downtime one is made up for, with their number", async () => {
    const { thread_id } = await server.client.threads.create();
    const { cron_id } = await cronsOf(server).createForThread(thread_id, "counter", {
      schedule: hourly,
      input: { value: 41 },
      metadata: { note: "by the clock" },
    });
    const due = hoursAgo(5);
    await whileDown(cron_id, { next_run_date: due });
    await expect.poll(() => server.client.runs.list(thread_id)).toMatchObject([{ status: "success" }]);
    expect(await server.client.threads.getState(thread_id)).toMatchObject({ values: { value: 42 } });
    const [run, ...others] = await server.client.runs.list(thread_id);
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      metadata: { note: "by the clock", cron_id, cron_date: due, cron_missed: 5 },
      multitask_strategy: "enqueue",
    });
    const [cron] = await server.client.crons.search({ threadId: thread_id });
    expect(Date.parse(cron?.next_run_date ?? "")).toBeGreaterThan(Date.now());
    await server.close();
    server = await server.restart();
    expect(await server.client.runs.list(thread_id)).toHaveLength(1);
  });

  test("without a thread runs on a new one, which is kept or deleted as configured", async () => {
    const [kept, gone] = [crypto.randomUUID(), crypto.randomUUID()];
    const keeps = await cronsOf(server).create("keeper", {
      schedule: hourly,
      input: { note: kept },
      onRunCompleted: "keep",
    });
    await cronsOf(server).create("keeper", { schedule: hourly, input: { note: gone } });
    await server.close();
    const storage = await openStorageOf(server.config);
    const { crons } = await storage.crons.search({ limit: 10, offset: 0 });
    for (const { cron_id } of crons) await storage.crons.update(cron_id, { next_run_date: hoursAgo(1) });
    await storage.close();
    server = await server.restart();
    for (const note of [kept, gone]) {
      await expect.poll(() => server.client.store.getItem(["notes", "kept"], note)).not.toBeNull();
    }
    const threads = () => server.client.threads.search({ metadata: { cron_id: keeps.cron_id } });
    await expect.poll(threads).toMatchObject([{ status: "idle", values: { note: kept } }]);
    const runs = await server.client.runs.list((await threads())[0]?.thread_id ?? "");
    expect(runs).toMatchObject([{ status: "success", kwargs: { temporary: false } }]);
  });

  test("skips a date on which it cannot run, and keeps the next one", async () => {
    const { thread_id } = await server.client.threads.create();
    const { cron_id } = await cronsOf(server).createForThread(thread_id, "counter", { schedule: hourly });
    await whileDown(cron_id, { next_run_date: hoursAgo(1), payload: { assistant_id: "gone", input: {} } });
    const find = async () => (await server.client.crons.search({ threadId: thread_id }))[0]?.next_run_date ?? "";
    await expect.poll(async () => Date.parse(await find()) > Date.now()).toBe(true);
    expect(await server.client.runs.list(thread_id)).toEqual([]);
  });

  test("does not run if it is disabled", async () => {
    const { thread_id } = await server.client.threads.create();
    const crons = cronsOf(server);
    const off = await crons.createForThread(thread_id, "counter", { schedule: hourly });
    const on = await crons.createForThread(thread_id, "counter", { schedule: hourly, input: { value: 1 } });
    await server.close();
    const storage = await openStorageOf(server.config);
    await storage.crons.update(off.cron_id, { enabled: false, next_run_date: hoursAgo(2) });
    await storage.crons.update(on.cron_id, { next_run_date: hoursAgo(1) });
    await storage.close();
    server = await server.restart();
    await expect.poll(() => server.client.runs.list(thread_id)).toMatchObject([{ metadata: { cron_id: on.cron_id } }]);
  });
});

describe("with keys", () => {
  it("each owner has separate crons, whose runs and threads belong to the owner", async () => {
    const keyed = await startTestServer({
      apiKeys: ["ada", "bob"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    });
    const asOwner = async (owner: string, method: string, path: string, body?: object): Promise<[number, string]> => {
      const response = await keyed.send(method, path, body, { "x-api-key": `key-of-${owner}` });
      return [response.status, await response.text()];
    };
    const [, made] = await asOwner("ada", "POST", "/runs/crons", {
      assistant_id: "counter",
      schedule: hourly,
      on_run_completed: "keep",
    });
    const { cron_id, user_id } = JSON.parse(made);
    expect(user_id).toBe("ada");
    expect(await asOwner("bob", "POST", "/runs/crons/count", {})).toEqual([200, "0"]);
    expect(await asOwner("bob", "POST", "/runs/crons/search", {})).toEqual([200, "[]"]);
    for (const [method, body] of [
      ["PATCH", { enabled: false }],
      ["DELETE", undefined],
    ] as const) {
      expect(await asOwner("bob", method, `/runs/crons/${cron_id}`, body)).toEqual([404, `Cron ${cron_id} not found`]);
    }
    const [, thread] = await asOwner("ada", "POST", "/threads", {});
    const path = `/threads/${JSON.parse(thread).thread_id}/runs/crons`;
    expect((await asOwner("bob", "POST", path, { assistant_id: "counter", schedule: yearly }))[0]).toBe(404);
    await keyed.close();
    const storage = await openStorageOf(keyed.config);
    await storage.crons.update(cron_id, { next_run_date: new Date(Date.now() - 3_600_000).toISOString() });
    await storage.close();
    const again = await keyed.restart();
    const threads = async (owner: string): Promise<unknown> => {
      const response = await again.send(
        "POST",
        "/threads/count",
        { metadata: { cron_id } },
        { "x-api-key": `key-of-${owner}` },
      );
      return response.json();
    };
    await expect.poll(() => threads("ada")).toBe(1);
    expect(await threads("bob")).toBe(0);
    await again.remove();
    await keyed.remove();
  });
});
