import { describe, expect, it } from "vitest";
import type { RunEvent } from "@millrace/engine/run-events";
import { runRecord } from "../contract/records.ts";
import { createTestStorage } from "../support/test-storage.ts";
import {
  askingGraph,
  collect,
  createHarness,
  createGate,
  createRuns,
  createSession,
  failingGraph,
  gatedGraph,
  nestedGraph,
  never,
  plainGraph,
  request,
  settle,
} from "./fixtures.ts";

const names = (events: RunEvent[]): string[] => events.map(({ event }) => event);
const ids = (events: RunEvent[]): number[] => events.map(({ id }) => id);

describe("a run", () => {
  it("streams its metadata first, then its values in order, with ids from 0", async () => {
    const { runs, session } = await createHarness({ agent: plainGraph() });
    const run = await runs.start(session, request("agent"));
    const events = await collect(runs.follow(run.run_id, -1, never));
    expect(names(events)).toEqual(["metadata", "values", "values", "values"]);
    expect(ids(events)).toEqual([0, 1, 2, 3]);
    expect(events[0]).toMatchObject({ data: { run_id: run.run_id, attempt: 1 } });
    expect(events.at(-1)).toMatchObject({ data: { steps: ["one", "two"] } });
  });

  it("is written as over before its followers end", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    const run = await runs.start(session, request("agent"));
    await collect(runs.follow(run.run_id, -1, never));
    expect(storage.rows.run(run.run_id)?.status).toBe("success");
    expect(storage.rows.session(session.session_id)?.status).toBe("idle");
  });

  it("gives input messages an id before it is admitted", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    const run = await runs.start(session, request("agent"));
    const input = storage.rows.run(run.run_id)?.kwargs.input;
    expect(input).toEqual({ messages: [{ role: "user", content: "hello", id: expect.any(String) }] });
    const ended = await runs.wait(run.run_id, never);
    expect(runs.lastValues(ended)).toMatchObject({
      messages: [{ id: (input as { messages: [{ id: string }] }).messages[0].id }],
    });
  });

  it("notes the graph and the assistant in the session", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    await runs.start(session, request("agent"));
    expect(storage.rows.session(session.session_id)?.metadata).toEqual({
      graph_id: "agent",
      assistant_id: "fe096781-5601-53d2-b2f6-0d3403f7e9ca",
    });
  });

  it("ends with an error event, status error and a session in error when a node throws", async () => {
    const { runs, session, storage } = await createHarness({ agent: failingGraph() });
    const run = await runs.start(session, request("agent"));
    const events = await collect(runs.follow(run.run_id, -1, never));
    expect(events.at(-1)).toMatchObject({ event: "error", data: { error: "RangeError", message: "no luck" } });
    expect(storage.rows.run(run.run_id)).toMatchObject({ status: "error", error: { message: "no luck" } });
    expect(storage.rows.session(session.session_id)?.status).toBe("error");
  });

  it("refuses an unknown assistant and a wrong config before anything is written", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    await expect(runs.start(session, request("unknown"))).rejects.toMatchObject({ code: "not_found" });
    const wrong = request("agent", { config: { recursion_limit: "many" } });
    await expect(runs.start(session, wrong)).rejects.toMatchObject({
      code: "invalid_parameter",
      message: expect.stringContaining("config.recursion_limit"),
    });
    expect(storage.rows.runs().length).toBe(0);
  });

  it("keeps a client from setting the keys LangGraph and the server pass to themselves", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    gate.open();
    const config = { configurable: { thread_id: "other", __millrace: "mine", __pregel_read: 1 } };
    const run = await runs.start(session, request("agent", { config }));
    expect((await runs.wait(run.run_id, never)).status).toBe("success");
    const has = async (thread_id: string): Promise<boolean> =>
      (await storage.checkpointer.getTuple({ configurable: { thread_id } })) !== undefined;
    expect([await has("other"), await has(session.session_id)]).toEqual([false, true]);
  });
});

describe("readers", () => {
  it("each see every event, whenever they come", async () => {
    const gate = createGate();
    const { runs, session } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    const first = collect(runs.follow(run.run_id, -1, never));
    await gate.arrived;
    const second = collect(runs.follow(run.run_id, -1, never));
    await settle();
    gate.open();
    const late = collect(runs.follow((await runs.wait(run.run_id, never)).run_id, -1, never));
    const all = await Promise.all([first, second, late]);
    expect(ids(all[0])).toEqual([0, 1, 2, 3, 4]);
    expect(all[1]).toEqual(all[0]);
    expect(all[2]).toEqual(all[0]);
  });

  it("go on after the id they name, live and when the run is over", async () => {
    const gate = createGate();
    const { runs, session } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    const live = collect(runs.follow(run.run_id, 1, never));
    gate.open();
    expect(ids(await live)).toEqual([2, 3, 4]);
    expect(ids(await collect(runs.follow(run.run_id, 2, never)))).toEqual([3, 4]);
    expect(await collect(runs.follow(run.run_id, 99, never))).toEqual([]);
  });

  it("that go away leave nothing behind, and do not end the run", async () => {
    const gate = createGate();
    const { runs, session } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    const gone = new AbortController();
    const removed: string[] = [];
    const remove = gone.signal.removeEventListener.bind(gone.signal);
    gone.signal.removeEventListener = (...[type, ...rest]: Parameters<typeof remove>) => {
      removed.push(type);
      remove(type, ...rest);
    };
    const reading = collect(runs.follow(run.run_id, -1, gone.signal));
    const waiting = runs.wait(run.run_id, gone.signal);
    await gate.arrived;
    await settle();
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ name: "AbortError" });
    expect(ids(await reading)).toEqual([0, 1, 2]);
    expect(removed).toEqual(["abort", "abort"]);
    gate.open();
    expect((await runs.wait(run.run_id, never)).status).toBe("success");
  });

  it("of an unknown run get an error", async () => {
    const { runs } = await createHarness({ agent: plainGraph() });
    await expect(collect(runs.follow("none", -1, never))).rejects.toMatchObject({ code: "not_found" });
    await expect(runs.wait("none", never)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("several runs of a session", () => {
  it("are refused with conflict while one runs", async () => {
    const gate = createGate();
    const { runs, session } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    await expect(runs.start(session, request("agent"))).rejects.toMatchObject({ code: "conflict" });
    gate.open();
    await runs.wait(run.run_id, never);
    const next = await runs.start(session, request("agent"));
    expect((await runs.wait(next.run_id, never)).status).toBe("success");
  });

  it("run one after another in the order they came when they are enqueued", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const started = [];
    for (const text of ["first", "second", "third"]) {
      const input = { messages: [{ role: "user", content: text }] };
      started.push(await runs.start(session, request("agent", { input, multitask_strategy: "enqueue" })));
    }
    await gate.arrived;
    expect(storage.rows.runs().map(({ status }) => status)).toEqual(["running", "pending", "pending"]);
    gate.open();
    const ended = await Promise.all(started.map(({ run_id }) => runs.wait(run_id, never)));
    const last = ended.at(-1);
    const { messages } = (last && runs.lastValues(last)) as { messages: { content: string }[] };
    expect(messages.map(({ content }) => content)).toEqual(["first", "second", "third"]);
  });

  it("that another process has admitted are followed, and executed in their turn", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    const foreign = ["r1", "r2"].map((id) => runRecord(id, session.session_id));
    for (const run of foreign) await storage.runs.admit(run);
    const followed = collect(runs.follow("r2", -1, never));
    const waited = runs.wait("r1", never);
    const own = await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
    expect(await runs.wait(own.run_id, never)).toMatchObject({ status: "success" });
    expect(await waited).toMatchObject({ run_id: "r1", status: "success", attempt: 1 });
    expect(ids(await followed)).toEqual([0, 1, 2, 3]);
    expect(storage.rows.runs().map(({ status }) => status)).toEqual(["success", "success", "success"]);
    expect(storage.rows.session(session.session_id)?.status).toBe("idle");
  });

  it("are bounded across sessions, in the order they came", async () => {
    const gates = [createGate(), createGate(), createGate()] as const;
    const graphs = Object.fromEntries(gates.map((gate, at) => [`g${at}`, gatedGraph(gate)]));
    const bench = await createHarness(graphs);
    const runs = createRuns(bench.storage, bench.graphs, 2);
    const started = [];
    for (const at of [0, 1, 2]) started.push(await runs.start(await createSession(bench.storage), request(`g${at}`)));
    await Promise.all([gates[0].arrived, gates[1].arrived]);
    await settle();
    expect((await runs.get(started[2]?.run_id ?? ""))?.status).toBe("pending");
    gates[1].open();
    await gates[2].arrived;
    expect((await runs.get(started[0]?.run_id ?? ""))?.status).toBe("running");
    for (const gate of gates) gate.open();
    await Promise.all(started.map(({ run_id }) => runs.wait(run_id, never)));
  });

  it("interrupt the running one when the newer one asks for it", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate), plain: plainGraph() });
    const old = await runs.start(session, request("agent"));
    await gate.arrived;
    const young = await runs.start(session, request("plain", { multitask_strategy: "interrupt" }));
    expect((await runs.wait(young.run_id, never)).status).toBe("success");
    expect(storage.rows.run(old.run_id)?.status).toBe("interrupted");
  });

  it("remove the running one when the newer one asks for a rollback", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate), plain: plainGraph() });
    await runs.start(session, request("agent"));
    await gate.arrived;
    const young = await runs.start(session, request("plain", { multitask_strategy: "rollback" }));
    expect((await runs.wait(young.run_id, never)).status).toBe("success");
    expect(storage.rows.runs().map(({ run_id }) => run_id)).toEqual([young.run_id]);
  });
});

describe("stopping", () => {
  it("a running run ends it as interrupted, its readers with it", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    const reading = collect(runs.follow(run.run_id, -1, never));
    await gate.arrived;
    await settle();
    const ended = await runs.cancel(run.run_id, { action: "interrupt", wait: true });
    expect(ended?.status).toBe("interrupted");
    expect(names(await reading)).toEqual(["metadata", "values", "values"]);
    expect(storage.rows.session(session.session_id)?.status).toBe("interrupted");
    expect(await runs.cancel(run.run_id, { action: "interrupt", wait: true })).toMatchObject({ status: "interrupted" });
  });

  it("a node that ignores its signal does not hold up the end", async () => {
    const gate = createGate();
    const deaf = { pass: () => gate.pass() };
    const { runs, session } = await createHarness({ agent: gatedGraph({ ...gate, ...deaf }) });
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    expect((await runs.cancel(run.run_id, { action: "interrupt", wait: true }))?.status).toBe("interrupted");
    gate.open();
  });

  it("a queued run ends it where it waits, and the others go on", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const enqueue = request("agent", { multitask_strategy: "enqueue" });
    const [first, second, third] = [
      await runs.start(session, enqueue),
      await runs.start(session, enqueue),
      await runs.start(session, enqueue),
    ];
    const reading = collect(runs.follow(second.run_id, -1, never));
    expect((await runs.cancel(second.run_id, { action: "interrupt", wait: true }))?.status).toBe("interrupted");
    expect(await reading).toEqual([]);
    expect(storage.rows.session(session.session_id)?.status).toBe("busy");
    gate.open();
    expect((await runs.wait(first.run_id, never)).status).toBe("success");
    expect((await runs.wait(third.run_id, never)).status).toBe("success");
  });

  it("with rollback removes the run", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    const run = await runs.start(session, request("agent"));
    await gate.arrived;
    await runs.cancel(run.run_id, { action: "rollback", wait: true });
    expect(await runs.get(run.run_id)).toBeUndefined();
    expect(storage.rows.session(session.session_id)?.status).not.toBe("busy");
  });

  it("an unknown run answers nothing", async () => {
    const { runs } = await createHarness({ agent: plainGraph() });
    expect(await runs.cancel("none", { action: "interrupt", wait: true })).toBeUndefined();
    expect(await runs.delete("none")).toBe(false);
  });

  it("a session stops all its runs", async () => {
    const gate = createGate();
    const { runs, session, storage } = await createHarness({ agent: gatedGraph(gate) });
    await runs.start(session, request("agent"));
    await runs.start(session, request("agent", { multitask_strategy: "enqueue" }));
    await gate.arrived;
    await runs.cancelSession(session.session_id);
    expect(storage.rows.runs().map(({ status }) => status)).toEqual(["interrupted", "interrupted"]);
  });
});

describe("a run that asks", () => {
  it("is a success, its session is interrupted and says what is asked", async () => {
    const { runs, session, storage } = await createHarness({ agent: askingGraph() });
    const run = await runs.start(session, request("agent"));
    const events = await collect(runs.follow(run.run_id, -1, never));
    expect(events.at(-1)).toMatchObject({
      event: "values",
      data: { __interrupt__: [{ id: expect.any(String), value: { question: "sure?" } }] },
    });
    expect(storage.rows.run(run.run_id)?.status).toBe("success");
    const row = storage.rows.session(session.session_id);
    expect(row?.status).toBe("interrupted");
    expect(Object.values(row?.interrupts ?? {})).toEqual([[{ id: expect.any(String), value: { question: "sure?" } }]]);
  });

  it("goes on with the answer of a command, in any stream mode", async () => {
    const { runs, session, storage } = await createHarness({ agent: askingGraph() });
    const asked = await runs.start(session, request("agent", { stream_mode: ["custom"] }));
    await runs.wait(asked.run_id, never);
    expect(storage.rows.session(session.session_id)?.status).toBe("interrupted");
    const { input: _input, ...answer } = request("agent", { command: { resume: "yes" } });
    const ended = await runs.wait((await runs.start(session, answer)).run_id, never);
    expect(runs.lastValues(ended)).toMatchObject({ steps: ["yes"] });
    expect(storage.rows.session(session.session_id)).toMatchObject({ status: "idle", interrupts: {} });
  });

  it("gives the state with the question as its last values", async () => {
    const { runs, session } = await createHarness({ agent: askingGraph() });
    const ended = await runs.wait((await runs.start(session, request("agent"))).run_id, never);
    expect(runs.lastValues(ended)).toMatchObject({ messages: [{}], __interrupt__: [{ value: { question: "sure?" } }] });
  });

  it("also stops at a breakpoint", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    const run = await runs.start(session, request("agent", { interrupt_before: ["two"] }));
    const events = await collect(runs.follow(run.run_id, -1, never));
    expect(events.at(-1)).toMatchObject({ event: "values", data: { __interrupt__: [] } });
    expect(storage.rows.session(session.session_id)?.status).toBe("interrupted");
  });
});

describe("a graph with a subgraph", () => {
  const stream = async (stream_mode: string[], stream_subgraphs: boolean): Promise<RunEvent[]> => {
    const { runs, session } = await createHarness({ agent: nestedGraph() });
    const run = await runs.start(session, request("agent", { stream_mode, stream_subgraphs }));
    return collect(runs.follow(run.run_id, -1, never));
  };

  it("streams what its node returns, and custom events as the root's own, when subgraphs are not asked for", async () => {
    const events = await stream(["messages-tuple", "custom", "updates"], false);
    expect(names(events)).toEqual(["metadata", "custom", "messages", "updates"]);
    expect(events.every((event) => !("namespace" in event) || event.namespace.length === 0)).toBe(true);
    expect(events[2]).toMatchObject({ data: { content: "abc" }, metadata: { langgraph_node: "outer" } });
  });

  it("says where everything comes from when they are", async () => {
    const events = await stream(["messages-tuple", "updates"], true);
    const paths = events.flatMap((event) => ("namespace" in event ? [[event.event, event.namespace.length]] : []));
    expect(paths).toEqual([
      ["messages", 1],
      ["messages", 1],
      ["messages", 1],
      ["updates", 1],
      ["updates", 0],
    ]);
  });

  it("streams the older message events", async () => {
    const events = await stream(["messages"], true);
    expect(names(events)).toEqual([
      "metadata",
      "messages/complete",
      "messages/metadata",
      "messages/partial",
      "messages/partial",
      "messages/partial",
      "messages/complete",
    ]);
    const [answerId] = Object.keys((events[2] as { data: object }).data);
    expect(Object.values((events[2] as { data: object }).data)).toMatchObject([
      { metadata: { langgraph_node: "talks" } },
    ]);
    expect(events[3]).toMatchObject({ data: { id: answerId, content: "a" } });
    expect(events.at(-1)).toMatchObject({ data: [{ id: answerId, content: "abc" }] });
  });
});

describe("a temporary run", () => {
  it("is removed with its session when its answer has been read", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    const run = await runs.start(session, request("agent", { temporary: true }));
    const events = await collect(runs.follow(run.run_id, -1, never));
    expect(events).toHaveLength(4);
    await settle();
    expect(storage.rows.sessionCount()).toBe(0);
  });

  it("takes with it the other runs of its session, so that no caller waits for them for ever", async () => {
    const { runs, session, storage } = await createHarness({ agent: plainGraph() });
    const run = await runs.start(session, request("agent", { temporary: true }));
    const later = await runs.start(session, request("agent", { after_seconds: 3600, multitask_strategy: "enqueue" }));
    const waiting = runs.wait(later.run_id, never);
    await collect(runs.follow(run.run_id, -1, never));
    expect((await waiting).status).toBe("interrupted");
    await settle();
    expect(storage.rows.sessionCount()).toBe(0);
  });

  it("with a key stays for who asks again, in the store alone", async () => {
    const storage = createTestStorage();
    let reads = 0;
    const follow: typeof storage.events.follow = (...given) => {
      reads += 1;
      return storage.events.follow(...given);
    };
    const { runs, session } = await createHarness(
      { agent: plainGraph() },
      { ...storage, events: { ...storage.events, follow } },
    );
    const submission = { key: "once", hash: "same" };
    const run = await runs.start(session, request("agent", { temporary: true, submission }));
    await runs.wait(run.run_id, never);
    await settle();
    expect((await runs.start(session, request("agent", { temporary: true, submission }))).run_id).toBe(run.run_id);
    expect(await collect(runs.follow(run.run_id, -1, never))).toHaveLength(4);
    expect(reads).toBeGreaterThan(0);
  });

  it("with a key stays for who asks again also where a restart came between", async () => {
    const gate = createGate();
    const bench = await createHarness({ agent: gatedGraph(gate) });
    const other = await createSession(bench.storage);
    const temporary = request("agent", { temporary: true });
    const keyed = { ...temporary, submission: { key: "once", hash: "same" } };
    const first = await bench.runs.start(bench.session, keyed);
    const second = await bench.runs.start(other, temporary);
    await gate.arrived;
    await bench.runs.drain(0);
    gate.open();
    const runs = createRuns(bench.storage, bench.graphs);
    await runs.recover();
    for (const { run_id } of [first, second]) await collect(runs.follow(run_id, -1, never));
    await expect.poll(() => bench.storage.rows.sessionCount()).toBe(1);
    expect((await runs.start(bench.session, keyed)).run_id).toBe(first.run_id);
  });
});

describe("a delayed run", () => {
  it("waits for its time, and can be cancelled before", async () => {
    const { runs, session } = await createHarness({ agent: plainGraph() });
    const run = await runs.start(session, request("agent", { after_seconds: 3600 }));
    await settle();
    expect((await runs.get(run.run_id))?.status).toBe("pending");
    expect((await runs.cancel(run.run_id, { action: "interrupt", wait: true }))?.status).toBe("interrupted");
  });
});
