import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { readEvents } from "@millrace/testing/read-events";
import { cancelRuns } from "../support/requests/both-sdks.ts";
import { openGate } from "../support/test-graphs.ts";
import { isSecondSdk, startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ queueLimit: 4, drainSeconds: 0.1 });
});
afterAll(() => server.remove());

const missing = "0192d1c4-7d5e-7000-8000-00000000dead";
const isoDate = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const uuid = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
const Started = z.looseObject({ run_id: z.string(), thread_id: z.string() });
const send = async (method: string, path: string, body?: unknown): Promise<[number, string]> => {
  const response = await server.send(method, path, body);
  return [response.status, await response.text()];
};
const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;
const counter = { assistant_id: "counter", input: { value: 1 } };
const noAssistant =
  'No assistant found for "unknown". Make sure the assistant ID is for a valid assistant or a valid graph ID.';
const busy = "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.";

/** A run that waits at its own gate; `open` opens the gate and waits for the run's end. */
async function waiting(threadId: string, body: object = {}) {
  const gate = crypto.randomUUID();
  const request = { assistant_id: "gated", input: { gate }, ...body };
  const run = Started.parse(await (await server.send("POST", `/threads/${threadId}/runs`, request)).json());
  return {
    ...run,
    open: async (): Promise<void> => {
      openGate(gate);
      await server.client.runs.join(threadId, run.run_id);
    },
  };
}

const starts = ["", "/stream", "/wait"];

describe("an invalid body", () => {
  const wrong = { assistant_id: "counter", stream_mode: "colors" };
  test.each([
    ["POST /threads/:thread_id/runs 400", `/threads/${missing}/runs`, wrong],
    ["POST /threads/:thread_id/runs/stream 400", `/threads/${missing}/runs/stream`, wrong],
    ["POST /threads/:thread_id/runs/wait 400", `/threads/${missing}/runs/wait`, wrong],
    ["POST /runs 400", "/runs", wrong],
    ["POST /runs 400", "/runs", { ...counter, after_seconds: 1e30 }],
    ["POST /runs 400", "/runs", { ...counter, after_seconds: 300_000_000_000 }],
    ["POST /runs/stream 400", "/runs/stream", wrong],
    ["POST /runs/wait 400", "/runs/wait", {}],
    ["POST /runs/batch 400", "/runs/batch", [counter, wrong]],
    ["POST /runs/batch 400", "/runs/batch", counter],
    ["POST /runs/cancel 400", "/runs/cancel", {}],
    ["POST /runs/cancel 400", "/runs/cancel", { run_ids: [missing] }],
    ["POST /runs/cancel 400", "/runs/cancel?action=stop", { thread_id: missing }],
    [
      "POST /threads/:thread_id/runs/:run_id/cancel 400",
      `/threads/${missing}/runs/${missing}/cancel?action=stop`,
      undefined,
    ],
  ])("%s", async (_title, path, body) => {
    const response = await server.send("POST", path, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ success: false, error: { name: "ZodError", issues: [{}] } });
  });

  test.each([
    ["GET /threads/:thread_id/runs 400", "GET", `/threads/${missing}/runs?limit=0`],
    ["GET /threads/:thread_id/runs/:run_id 400", "GET", `/threads/${missing}/runs/no-uuid`],
    ["DELETE /threads/:thread_id/runs/:run_id 400", "DELETE", `/threads/${missing}/runs/no-uuid`],
    ["GET /threads/:thread_id/runs/:run_id/join 400", "GET", `/threads/${missing}/runs/no-uuid/join`],
    ["GET /threads/:thread_id/runs/:run_id/stream 400", "GET", `/threads/${missing}/runs/no-uuid/stream`],
    ["GET /runs/:run_id/stream 400", "GET", "/runs/no-uuid/stream"],
  ])("%s: the id or the query is invalid", async (_title, method, path) => {
    expect((await send(method, path))[0]).toBe(400);
  });
});

describe("an unknown id", () => {
  test.each([
    ["POST /threads/:thread_id/runs 404", "POST", "", counter, `Thread with ID ${missing} not found`],
    ["POST /threads/:thread_id/runs/stream 404", "POST", "/stream", counter, `Thread with ID ${missing} not found`],
    ["POST /threads/:thread_id/runs/wait 404", "POST", "/wait", counter, `Thread with ID ${missing} not found`],
    ["GET /threads/:thread_id/runs 404", "GET", "", undefined, `Thread with ID ${missing} not found`],
    ["GET /threads/:thread_id/runs/:run_id 404", "GET", `/${missing}`, undefined, "Run not found"],
    ["DELETE /threads/:thread_id/runs/:run_id 404", "DELETE", `/${missing}`, undefined, "Run not found"],
    ["POST /threads/:thread_id/runs/:run_id/cancel 404", "POST", `/${missing}/cancel`, undefined, "Run not found"],
    ["GET /threads/:thread_id/runs/:run_id/join 404", "GET", `/${missing}/join`, undefined, "Run not found"],
    ["GET /threads/:thread_id/runs/:run_id/stream 404", "GET", `/${missing}/stream`, undefined, "Run not found"],
  ])("%s", async (_title, method, rest, body, text) => {
    expect(await send(method, `/threads/${missing}/runs${rest}`, body)).toEqual([404, text]);
  });

  test.each([
    ["POST /runs 404", "POST", "/runs", { assistant_id: "unknown" }, noAssistant],
    ["POST /runs/stream 404", "POST", "/runs/stream", { assistant_id: "unknown" }, noAssistant],
    ["POST /runs/wait 404", "POST", "/runs/wait", { assistant_id: "unknown" }, noAssistant],
    ["POST /runs/batch 404", "POST", "/runs/batch", [{ assistant_id: "unknown" }], noAssistant],
    ["GET /runs/:run_id/stream 404", "GET", `/runs/${missing}/stream`, undefined, "Run not found"],
  ])("%s: without a thread", async (_title, method, path, body, text) => {
    expect(await send(method, path, body)).toEqual([404, text]);
  });

  test("a run by an unknown assistant is refused and not admitted", async () => {
    const threadId = await newThread();
    for (const kind of starts) {
      expect(await send("POST", `/threads/${threadId}/runs${kind}`, { assistant_id: "unknown" })).toEqual([
        404,
        noAssistant,
      ]);
    }
    expect(await server.client.runs.list(threadId)).toEqual([]);
  });
});

describe("starting a run of a thread", () => {
  test("POST /threads/:thread_id/runs 200: the complete pending Run, and its location", async () => {
    const threadId = await newThread();
    const body = {
      ...counter,
      config: { tags: ["a"], recursion_limit: 7 },
      context: { size: 1 },
      metadata: { reason: "test" },
      stream_mode: ["values", "updates"],
      stream_subgraphs: true,
      stream_resumable: true,
      interrupt_after: ["unknown"],
      multitask_strategy: "enqueue",
      durability: "async",
    };
    const response = await server.send("POST", `/threads/${threadId}/runs`, body);
    const run = Started.parse(await response.json());
    expect(run).toEqual({
      run_id: uuid,
      thread_id: threadId,
      assistant_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      metadata: { created_by: "system", reason: "test" },
      status: "pending",
      kwargs: {
        input: { value: 1 },
        config: expect.objectContaining({ tags: ["a"], recursion_limit: 7 }),
        context: { size: 1 },
        stream_mode: ["values", "updates"],
        interrupt_after: ["unknown"],
        durability: "async",
        temporary: false,
        subgraphs: true,
        resumable: true,
      },
      multitask_strategy: "enqueue",
      created_at: isoDate,
      updated_at: isoDate,
    });
    expect(response.headers.get("content-location")).toBe(`/threads/${threadId}/runs/${run.run_id}`);
    expect(await server.client.runs.join(threadId, run.run_id)).toEqual({ value: 2 });
  });

  test("POST /threads/:thread_id/runs/stream 200: its events, with its location and how to reconnect", async () => {
    const threadId = await newThread();
    const response = await server.send("POST", `/threads/${threadId}/runs/stream`, counter);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = await readEvents(response);
    const { run_id } = z.object({ run_id: z.string() }).parse(events[0]?.data);
    expect(events.map(({ event, id }) => [event, id])).toEqual([
      ["metadata", "0"],
      ["values", "1"],
      ["values", "2"],
    ]);
    const place = `/threads/${threadId}/runs/${run_id}`;
    expect(response.headers.get("content-location")).toBe(place);
    expect(response.headers.get("location")).toBe(`${place}/stream`);
  });

  test.each([{ multitask_strategy: "enqueue" }, { multitask_strategy: "enqueue", after_seconds: 3_600 }])(
    "a subscriber of a pending run receives its location at once: %j",
    { timeout: 4_000 },
    async (options) => {
      const threadId = await newThread();
      const first = "after_seconds" in options ? undefined : await waiting(threadId);
      const response = await server.send("POST", `/threads/${threadId}/runs/stream`, { ...counter, ...options });
      const place = response.headers.get("content-location");
      await first?.open();
      if (first === undefined) await send("POST", `${place}/cancel`);
      expect((await readEvents(response))[0]?.event).toBe(first === undefined ? undefined : "metadata");
    },
  );

  test("POST /threads/:thread_id/runs/wait 200: the last values, or the error", async () => {
    const threadId = await newThread();
    const response = await server.send("POST", `/threads/${threadId}/runs/wait`, counter);
    const [run] = await server.client.runs.list(threadId);
    expect(response.headers.get("content-location")).toBe(`/threads/${threadId}/runs/${run?.run_id}`);
    expect(await response.json()).toEqual({ value: 2 });
    const failed = await send("POST", `/threads/${threadId}/runs/wait`, { assistant_id: "failing", input: {} });
    expect(failed).toEqual([200, JSON.stringify({ __error__: { error: "RangeError", message: "out of luck" } })]);
    const asked = await send("POST", `/threads/${threadId}/runs/wait`, { assistant_id: "asker", input: {} });
    expect(JSON.parse(asked[1])).toMatchObject({ __interrupt__: [{ value: { question: "Go on?" } }] });
  });

  test("if_not_exists creates the thread", async () => {
    for (const kind of starts) {
      const threadId = crypto.randomUUID();
      const body = { ...counter, if_not_exists: "create" };
      expect((await send("POST", `/threads/${threadId}/runs${kind}`, body))[0]).toBe(200);
      expect((await server.client.threads.get(threadId)).thread_id).toBe(threadId);
    }
  });

  test.each([
    ["POST /threads/:thread_id/runs 422", ""],
    ["POST /threads/:thread_id/runs/stream 422", "/stream"],
    ["POST /threads/:thread_id/runs/wait 422", "/wait"],
  ])("%s: the thread is busy, and a second run is refused unless it may be queued", async (_title, kind) => {
    const threadId = await newThread();
    const first = await waiting(threadId);
    expect(await send("POST", `/threads/${threadId}/runs${kind}`, counter)).toEqual([422, busy]);
    const second = await server.client.runs.create(threadId, "counter", { input: {}, multitaskStrategy: "enqueue" });
    expect(second.status).toBe("pending");
    await first.open();
    expect(await server.client.runs.join(threadId, second.run_id)).toMatchObject({ value: 1 });
  });

  test.each([
    ["POST /threads/:thread_id/runs 429", ""],
    ["POST /threads/:thread_id/runs/stream 429", "/stream"],
    ["POST /threads/:thread_id/runs/wait 429", "/wait"],
    ["POST /runs 429", undefined],
    ["POST /runs/stream 429", undefined],
    ["POST /runs/wait 429", undefined],
    ["POST /runs/batch 429", undefined],
  ])("%s: the queue is full, and the answer has Retry-After", async (title, kind) => {
    const threadId = await newThread();
    const first = await waiting(threadId);
    const queued = [];
    for (let count = 0; count < 4; count += 1) queued.push(await waiting(threadId, { multitask_strategy: "enqueue" }));
    const path = kind === undefined ? (title.split(" ")[1] ?? "") : `/threads/${threadId}/runs${kind}`;
    const body = { ...counter, multitask_strategy: "enqueue" };
    const refused = await server.send("POST", path, path.endsWith("batch") ? [body] : body);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    await cancelRuns(server, { threadId });
    await expect.poll(async () => (await server.client.threads.get(threadId)).status).not.toBe("busy");
    expect(first.run_id).toBeDefined();
  });

  test.each([["rollback"], ["interrupt"]] as const)(
    "a run with multitask_strategy %s ends the one before",
    async (strategy) => {
      const threadId = await newThread();
      const first = await waiting(threadId);
      await expect(
        server.client.runs.wait(threadId, "counter", { input: { value: 1 }, multitaskStrategy: strategy }),
      ).resolves.toMatchObject({ value: 2 });
      // Another server may remove what is rolled back while the next run is already at work.
      const look = async (): Promise<unknown> => (await send("GET", `/threads/${threadId}/runs/${first.run_id}`))[0];
      await expect.poll(look).toBe(strategy === "rollback" ? 404 : 200);
      if (strategy === "interrupt") {
        expect(await server.client.runs.get(threadId, first.run_id)).toMatchObject({ status: "interrupted" });
      }
    },
  );

  test("after_seconds is added to created_at, and the run does not start before", async () => {
    const threadId = await newThread();
    const before = Date.now();
    const run = await server.client.runs.create(threadId, "counter", { input: {}, afterSeconds: 3_600 });
    expect(Date.parse(run.created_at)).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(await server.client.runs.get(threadId, run.run_id)).toMatchObject({ status: "pending" });
    await server.client.runs.cancel(threadId, run.run_id, true);
    const soon = await server.client.runs.create(threadId, "counter", { input: {}, afterSeconds: 0.01 });
    expect(await server.client.runs.join(threadId, soon.run_id)).toEqual({ value: 1 });
  });

  test("durability says when states are written; exit acts as sync; checkpoint_during is its older form", async () => {
    const written = async (body: object): Promise<unknown> => {
      const response = await server.send("POST", `/threads/${await newThread()}/runs`, { ...counter, ...body });
      const run = Started.parse(await response.json());
      await server.client.runs.join(run.thread_id, run.run_id);
      return z.object({ durability: z.string() }).parse(run["kwargs"]).durability;
    };
    expect(await written({ durability: "async" })).toBe("async");
    expect(await written({ durability: "exit" })).toBe("sync");
    expect(await written({})).toBe("sync");
    expect(await written({ checkpoint_during: true })).toBe("async");
    expect(await written({ checkpoint_during: false })).toBe("sync");
    expect(await written({ checkpoint_during: false, durability: "async" })).toBe("async");
  });

  test("a command takes precedence over an input, and its goto may have an input for the node", async () => {
    const threadId = await newThread();
    const body = {
      assistant_id: "counter",
      command: { update: [["value", 4]], goto: { node: "add", input: { value: 6 } } },
    };
    expect(await send("POST", `/threads/${threadId}/runs/wait`, body)).toEqual([200, JSON.stringify({ value: 7 })]);
  });

  test("strict_resume fails a run whose answer has no question, and the open question stays open", async () => {
    const threadId = await newThread();
    await server.client.runs.wait(threadId, "asker", { input: {} });
    const [task] = (await server.client.threads.getState(threadId)).tasks;
    const open = task?.interrupts[0]?.id ?? "";
    const answer = async (command: object): Promise<unknown> => {
      const body = { assistant_id: "asker", command, strict_resume: true };
      return (await server.send("POST", `/threads/${threadId}/runs/wait`, body)).json();
    };
    const unknown = "0".repeat(32);
    expect(await answer({ resume: { [unknown]: "yes" } })).toEqual({
      __error__: { error: "UnknownInterruptError", message: expect.stringContaining(open) },
    });
    expect((await server.client.threads.getState(threadId)).tasks).toMatchObject([{ interrupts: [{ id: open }] }]);
    expect(await answer({ resume: { [open]: "yes" } })).toEqual({ answer: "yes" });
    expect(await answer({ resume: "again" })).toMatchObject({ __error__: { error: "UnknownInterruptError" } });
  });

  test("a run starts from the given checkpoint", async () => {
    const threadId = await newThread();
    await server.client.runs.wait(threadId, "counter", { input: { value: 1 } });
    const [, before] = await server.client.threads.getHistory(threadId);
    const checkpointId = before?.checkpoint.checkpoint_id ?? "";
    const values = await server.client.runs.wait(threadId, "counter", { input: null, checkpointId });
    expect(values).toEqual({ value: 2 });
    const again = await server.client.runs.wait(threadId, "counter", {
      input: { value: 5 },
      checkpoint: { checkpoint_id: checkpointId, checkpoint_ns: "", checkpoint_map: null },
    });
    expect(again).toEqual({ value: 6 });
  });
});

describe("runs of a thread", () => {
  test("GET /threads/:thread_id/runs 200: newest first, paged, by status, with selected fields", async () => {
    const threadId = await newThread();
    const ids: string[] = [];
    for (const value of [1, 2, 3]) {
      const run = await server.client.runs.create(threadId, "counter", { input: { value } });
      await server.client.runs.join(threadId, run.run_id);
      ids.unshift(run.run_id);
    }
    const listed = async (options?: object): Promise<string[]> =>
      (await server.client.runs.list(threadId, options)).map(({ run_id }) => run_id);
    expect(await listed()).toEqual(ids);
    expect(await listed({ limit: 1, offset: 1 })).toEqual([ids[1]]);
    expect(await listed({ limit: 5, offset: 2 })).toEqual([ids[2]]);
    expect(await listed({ status: "success" })).toEqual(ids);
    expect(await listed({ status: "pending" })).toEqual([]);
    const select: ("run_id" | "status")[] = ["run_id", "status"];
    expect(await server.client.runs.list(threadId, { limit: 1, select })).toEqual([
      { run_id: ids[0], status: "success" },
    ]);
  });

  test("GET /threads/:thread_id/runs/:run_id 200: its current state; under another thread it is 404", async () => {
    const threadId = await newThread();
    const run = await server.client.runs.create(threadId, "counter", { input: {} });
    await server.client.runs.join(threadId, run.run_id);
    const now = await server.client.runs.get(threadId, run.run_id);
    expect(now).toEqual({ ...run, status: "success", updated_at: now.updated_at });
    expect((await send("GET", `/threads/${await newThread()}/runs/${run.run_id}`))[0]).toBe(404);
  });

  test("DELETE /threads/:thread_id/runs/:run_id 204: its checkpoints are deleted too", async () => {
    const threadId = await newThread();
    await server.client.runs.wait(threadId, "counter", { input: { value: 1 } });
    const run = await server.client.runs.create(threadId, "counter", { input: { value: 8 } });
    await server.client.runs.join(threadId, run.run_id);
    expect(await send("DELETE", `/threads/${threadId}/runs/${run.run_id}`)).toEqual([204, ""]);
    expect(await server.client.threads.get(threadId)).toMatchObject({ values: { value: 2 } });
    expect((await send("GET", `/threads/${threadId}/runs/${run.run_id}`))[0]).toBe(404);
  });

  test("GET /threads/:thread_id/runs/:run_id/join 200: its values, while it runs and after its end", async () => {
    const threadId = await newThread();
    const run = await waiting(threadId);
    const joined = server.client.runs.join(threadId, run.run_id);
    await run.open();
    expect(await joined).toMatchObject({ passed: true });
    const over = await server.send("GET", `/threads/${threadId}/runs/${run.run_id}/join`);
    expect(await over.json()).toMatchObject({ passed: true });
    expect(over.headers.get("content-location")).toBe(`/threads/${threadId}/runs/${run.run_id}`);
  });

  test("GET /threads/:thread_id/runs/:run_id/stream 200: from the last event id on, in some modes", async () => {
    const threadId = await newThread();
    const run = await server.client.runs.create(threadId, "counter", {
      input: { value: 1 },
      streamMode: ["values", "updates"],
      streamResumable: true,
    });
    const path = `/threads/${threadId}/runs/${run.run_id}/stream`;
    const join = async (lastEventId: string, query = "") =>
      server.send("GET", `${path}${query}`, undefined, { "last-event-id": lastEventId });
    const response = await join("-1");
    expect(response.headers.get("content-location")).toBe(`/threads/${threadId}/runs/${run.run_id}`);
    expect(response.headers.get("location")).toBe(path);
    const all = await readEvents(response);
    expect(all.map(({ event, id }) => [event, id])).toEqual([
      ["metadata", "0"],
      ["values", "1"],
      ["updates", "2"],
      ["values", "3"],
    ]);
    expect(await readEvents(await join("1"))).toEqual(all.slice(2));
    const values = await readEvents(await join("-1", "?stream_mode=values&checkpoint_id=any&namespace="));
    expect(values.map(({ event, id }) => [event, id])).toEqual([
      ["metadata", "0"],
      ["values", "1"],
      ["values", "3"],
    ]);
    expect((await join("x")).status).toBe(400);
  });

  test("a subscriber that leaves cancels the run with cancel_on_disconnect, and not without", async () => {
    for (const [flag, status] of [
      ["1", "interrupted"],
      ["0", "success"],
    ] as const) {
      const threadId = await newThread();
      const run = await waiting(threadId);
      const leave = new AbortController();
      const path = `/threads/${threadId}/runs/${run.run_id}/stream?cancel_on_disconnect=${flag}&stream_mode=values`;
      const response = await fetch(`${server.url}${path}`, { signal: leave.signal });
      leave.abort();
      await response.text().catch(() => undefined);
      if (flag === "0") await run.open();
      await expect.poll(async () => (await server.client.runs.get(threadId, run.run_id)).status).toBe(status);
    }
  });
});

describe("cancelling", () => {
  test("POST /threads/:thread_id/runs/:run_id/cancel 202: at once; on an ended run it does nothing", async () => {
    const threadId = await newThread();
    const run = await waiting(threadId);
    // Stopped before, it would leave nothing to go on with.
    await expect.poll(async () => (await server.client.threads.getState(threadId)).next).toEqual(["wait"]);
    const path = `/threads/${threadId}/runs/${run.run_id}/cancel`;
    expect(await send("POST", `${path}?wait=0&reason=taken`)).toEqual([202, ""]);
    await expect.poll(async () => (await server.client.runs.get(threadId, run.run_id)).status).toBe("interrupted");
    expect(await send("POST", path)).toEqual([202, ""]);
    expect(await server.client.threads.get(threadId)).toMatchObject({ status: "interrupted" });
  });

  test("stores the reason, if one is given", async () => {
    const threadId = await newThread();
    const run = await waiting(threadId);
    // SDK 2.0.0 sends no reason.
    if (isSecondSdk) await send("POST", `/threads/${threadId}/runs/${run.run_id}/cancel?wait=1&reason=taken`);
    else await server.client.runs.cancel(threadId, run.run_id, true, "interrupt", { reason: "taken" });
    expect(await server.client.runs.get(threadId, run.run_id)).toMatchObject({ cancel_reason: "taken" });
    const found = await send("GET", `/threads/${threadId}/runs?select=cancel_reason`);
    expect(found).toEqual([200, JSON.stringify([{ cancel_reason: "taken" }])]);
    const other = await waiting(threadId, { multitask_strategy: "enqueue" });
    await server.client.runs.cancel(threadId, other.run_id, true);
    expect(await server.client.runs.get(threadId, other.run_id)).not.toHaveProperty("cancel_reason");
  });

  test("POST /threads/:thread_id/runs/:run_id/cancel 204: when it has ended; a rollback deletes it", async () => {
    const threadId = await newThread();
    const run = await waiting(threadId);
    const path = `/threads/${threadId}/runs/${run.run_id}/cancel?wait=1&action=rollback`;
    expect(await send("POST", path)).toEqual([204, ""]);
    expect((await send("GET", `/threads/${threadId}/runs/${run.run_id}`))[0]).toBe(404);
    expect((await server.client.threads.getState(threadId)).next).toEqual([]);
  });

  test("POST /runs/cancel 204: some runs of a thread, all of a thread, or all pending ones", async () => {
    const threadId = await newThread();
    const enqueue = { multitask_strategy: "enqueue" };
    const [first, second, third] = [
      await waiting(threadId),
      await waiting(threadId, enqueue),
      await waiting(threadId, enqueue),
    ];
    const statuses = async (): Promise<string[]> =>
      (await server.client.runs.list(threadId)).map(({ status }) => status).toReversed();
    await cancelRuns(server, { threadId, runIds: [second.run_id] });
    expect(await statuses()).toEqual(["running", "interrupted", "pending"]);
    expect(await send("POST", "/runs/cancel", { status: "pending" })).toEqual([204, ""]);
    expect(await statuses()).toEqual(["running", "interrupted", "interrupted"]);
    expect(await send("POST", "/runs/cancel?action=rollback", { thread_id: threadId })).toEqual([204, ""]);
    await expect.poll(statuses).toEqual(["interrupted", "interrupted"]);
    expect([first.thread_id, third.thread_id]).toEqual([threadId, threadId]);
  });

  test("POST /runs/cancel 404: an unknown thread or run; then no run is cancelled", async () => {
    const threadId = await newThread();
    const run = await waiting(threadId);
    const other = await newThread();
    expect(await send("POST", "/runs/cancel", { thread_id: missing })).toEqual([
      404,
      `Thread with ID ${missing} not found`,
    ]);
    for (const body of [
      { thread_id: threadId, run_ids: [run.run_id, missing] },
      { thread_id: other, run_ids: [run.run_id] },
    ]) {
      expect(await send("POST", "/runs/cancel", body)).toEqual([404, "Run not found"]);
    }
    await run.open();
    expect(await server.client.runs.get(threadId, run.run_id)).toMatchObject({ status: "success" });
  });
});

describe("runs without a thread", () => {
  test("POST /runs 200: a Run on a thread of its own, which is deleted unless it is kept", async () => {
    const body = { ...counter, on_completion: "keep" };
    const response = await server.send("POST", "/runs", body);
    const run = Started.parse(await response.json());
    expect(run).toMatchObject({ run_id: uuid, thread_id: uuid, status: "pending", kwargs: { temporary: false } });
    expect(response.headers.get("content-location")).toBe(`/runs/${run.run_id}`);
    expect(await server.client.runs.join(run.thread_id, run.run_id)).toEqual({ value: 2 });
    const gone = Started.parse(await (await server.send("POST", "/runs", counter)).json());
    expect(gone).toMatchObject({ kwargs: { temporary: true } });
    await readEvents(await server.send("GET", `/runs/${gone.run_id}/stream`));
    await expect.poll(async () => (await send("GET", `/threads/${gone.thread_id}`))[0]).toBe(404);
  });

  test("POST /runs/stream 200: without ids", async () => {
    const response = await server.send("POST", "/runs/stream", counter);
    expect(response.headers.get("content-location")).toMatch(/^\/runs\/[0-9a-f-]{36}$/);
    expect((await readEvents(response)).map(({ event, id }) => [event, id])).toEqual([
      ["metadata", undefined],
      ["values", undefined],
      ["values", undefined],
    ]);
  });

  test("POST /runs/wait 200: the values", async () => {
    expect(await send("POST", "/runs/wait", counter)).toEqual([200, JSON.stringify({ value: 2 })]);
  });

  test("GET /runs/:run_id/stream 200: with ids, from the last event id on", async () => {
    const response = await server.send("POST", "/runs", { ...counter, on_completion: "keep", stream_resumable: true });
    const { run_id } = Started.parse(await response.json());
    const joined = await server.send("GET", `/runs/${run_id}/stream`, undefined, { "last-event-id": "-1" });
    expect(joined.headers.get("content-location")).toBe(`/runs/${run_id}`);
    const events = await readEvents(joined);
    expect(events.map(({ id }) => id)).toEqual(["0", "1", "2"]);
    const rest = await server.send("GET", `/runs/${run_id}/stream`, undefined, { "last-event-id": "1" });
    expect(await readEvents(rest)).toEqual(events.slice(2));
    const none = await server.send("GET", `/runs/${run_id}/stream?stream_mode=updates`, undefined);
    expect((await readEvents(none)).map(({ event }) => event)).toEqual(["metadata"]);
  });

  test("POST /runs/batch 200: a Run for each, each on its own thread", async () => {
    const bodies = [1, 2].map((value) => ({ assistant_id: "counter", input: { value }, on_completion: "keep" }));
    const response = await server.send("POST", "/runs/batch", bodies, { "idempotency-key": "a batch" });
    const runs = z.array(Started).parse(await response.json());
    expect(new Set(runs.map(({ thread_id }) => thread_id)).size).toBe(2);
    const values = await Promise.all(runs.map((run) => server.client.runs.join(run.thread_id, run.run_id)));
    expect(values).toEqual([{ value: 2 }, { value: 3 }]);
    const again = await server.send("POST", "/runs/batch", bodies, { "idempotency-key": "a batch" });
    expect(
      z
        .array(Started)
        .parse(await again.json())
        .map(({ run_id }) => run_id),
    ).toEqual(runs.map(({ run_id }) => run_id));
    const both = { assistantId: "counter", input: { value: 5 } };
    expect(await server.client.runs.createBatch([both, both])).toHaveLength(2);
  });

  test("a batch is started completely or not at all", async () => {
    const { assistant_id } = await server.client.assistants.create({ graphId: "counter" });
    const late = { assistant_id, input: {}, on_completion: "keep", after_seconds: 3_600 };
    const left = (): Promise<unknown[]> => server.client.threads.search({ metadata: { assistant_id } });
    expect(await send("POST", "/runs/batch", [late, { assistant_id: "unknown" }])).toEqual([404, noAssistant]);
    expect(await left()).toEqual([]);
    const sendMany = async (count: number): Promise<number> => {
      const bodies = Array.from({ length: count }, () => late);
      return (await send("POST", "/runs/batch", bodies))[0];
    };
    // One more than the queue takes.
    expect(await sendMany(5)).toBe(429);
    expect(await left()).toEqual([]);
    expect(await sendMany(4)).toBe(200);
    await cancelRuns(server, { status: "all" });
  });

  test.each([
    ["POST /runs 422", "/runs"],
    ["POST /runs/stream 422", "/runs/stream"],
    ["POST /runs/wait 422", "/runs/wait"],
    ["POST /runs/batch 422", "/runs/batch"],
  ])("%s: the key was used with another request", async (title, path) => {
    const post = async (value: number): Promise<[number, string]> => {
      const body = { assistant_id: "counter", input: { value } };
      const sent = path.endsWith("batch") ? [body] : body;
      const response = await server.send("POST", path, sent, { "idempotency-key": title });
      return [response.status, await response.text()];
    };
    expect((await post(1))[0]).toBe(200);
    expect(await post(2)).toEqual([422, expect.stringContaining("Idempotency-Key")]);
  });
});
