import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import {
  emptyCheckpoint,
  MemorySaver,
  uuid6,
  type BaseCheckpointSaver,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  MessagesDeltaValue,
  MessagesValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MillraceSaver } from "@millrace/engine/storage/sqlite/checkpoints/checkpointer";
import { openSaver, type OpenSaver } from "./open-saver.ts";

let folder: string;
let path: string;
let opened: OpenSaver;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "checkpointer-"));
  path = join(folder, "test.db");
  opened = openSaver(path);
});
afterEach(() => {
  opened.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A saver on the same file with nothing in memory. */
const cold = (): MillraceSaver => new MillraceSaver(opened.database);
const thread = (id: string) => ({ configurable: { thread_id: id } });
const contents = (messages: BaseMessage[]): unknown[] => messages.map((message) => message.content);
const number = (sql: string): number => Number(opened.database.raw.prepare(sql).pluck().get());
const storedItems = (): number => number("SELECT coalesce(sum(count), 0) FROM checkpoint_items");

async function collect(list: AsyncIterable<CheckpointTuple>): Promise<CheckpointTuple[]> {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of list) tuples.push(tuple);
  return tuples;
}

async function collectStates<State>(
  app: { getStateHistory(config: ReturnType<typeof thread>): AsyncIterable<State> },
  config: ReturnType<typeof thread>,
): Promise<State[]> {
  const states: State[] = [];
  for await (const state of app.getStateHistory(config)) states.push(state);
  return states;
}

async function messagesOf(saver: BaseCheckpointSaver, id: string): Promise<BaseMessage[]> {
  const tuple = await saver.getTuple(thread(id));
  return (tuple?.checkpoint.channel_values["messages"] ?? []) as BaseMessage[]; // the channel of every graph here
}

function chatGraph(saver: BaseCheckpointSaver) {
  return new StateGraph(MessagesAnnotation)
    .addNode("chat", (state) => ({ messages: [new AIMessage(`answer ${state.messages.length}`)] }))
    .addEdge(START, "chat")
    .addEdge("chat", END)
    .compile({ checkpointer: saver });
}

function parallelGraph(schema: StateSchema<{ messages: typeof MessagesValue }>, saver: BaseCheckpointSaver) {
  const say = (content: string) => () => ({ messages: [new AIMessage({ content, id: content })] });
  return new StateGraph(schema)
    .addNode("a", say("a"))
    .addNode("b", say("b"))
    .addNode("c", say("c"))
    .addNode("d", say("d"))
    .addEdge(START, "a")
    .addEdge(START, "b")
    .addEdge(START, "c")
    .addEdge(START, "d")
    .compile({ checkpointer: saver });
}

describe("messages of parallel steps are read in the order of the run, in 20 of 20 threads", () => {
  test.each([
    ["MessagesValue", MessagesValue],
    ["MessagesDeltaValue", MessagesDeltaValue],
  ])("with %s", async (_name, messages) => {
    // Both are message channels; their types differ in what the graph stores.
    const schema = new StateSchema({ messages: messages as typeof MessagesValue });
    const hot = parallelGraph(schema, opened.saver);
    for (let index = 0; index < 20; index += 1) {
      const live = await hot.invoke({ messages: [new HumanMessage({ content: "u", id: "u" })] }, thread(`t${index}`));
      const state = await parallelGraph(schema, cold()).getState(thread(`t${index}`));
      expect(contents(state.values.messages)).toEqual(contents(live.messages));
      expect(live.messages).toHaveLength(5);
    }
  });
});

describe("the cache and the file have the same content", () => {
  test("for a graph with lists, maps, bytes and interrupts, at every step", async () => {
    const State = Annotation.Root({
      messages: MessagesAnnotation.spec.messages,
      notes: Annotation<object[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
      names: Annotation<string[]>({ reducer: (left, right) => left.concat(right), default: () => [] }),
      any: Annotation<unknown>(),
    });
    const app = new StateGraph(State)
      .addNode("work", (state) => {
        const step = state.notes.length;
        return {
          messages: [new AIMessage({ content: `${step}`, id: `m${step % 7}` })],
          notes: [{ step, text: "n".repeat(step * 10), bytes: new Uint8Array([step, 255]) }],
          names: [`name ${step}`, `name ${step}`],
          any: step % 2 === 0 ? new Map([[step, new Set([1n, undefined])]]) : undefined,
        };
      })
      .addEdge(START, "work")
      .addConditionalEdges("work", (state) => (state.notes.length < 40 ? "work" : END))
      .compile({ checkpointer: opened.saver });
    const config = { ...thread("t"), recursionLimit: 100 };
    for await (const _step of await app.stream(
      { messages: [new HumanMessage("go")] },
      { ...config, durability: "sync" },
    )) {
      expect(await cold().getTuple(thread("t"))).toEqual(await opened.saver.getTuple(thread("t")));
    }
    const history = await collect(opened.saver.list(thread("t")));
    expect(history).toHaveLength(42);
    for (const tuple of history) expect(await cold().getTuple(tuple.config)).toEqual(tuple);
    const last = history[0]?.checkpoint.channel_values;
    expect(last?.["notes"]).toHaveLength(40);
    expect(last?.["names"]).toHaveLength(80);
    // At most one item per human message, per answer (each id comes back with other content), per note and per name.
    expect(storedItems()).toBeLessThanOrEqual(1 + 40 + 40 + 80);
  });

  test("and a caller that changes what it received changes neither", async () => {
    await chatGraph(opened.saver).invoke({ messages: [new HumanMessage("hi")] }, thread("t"));
    const first = await messagesOf(opened.saver, "t");
    first.push(new HumanMessage("not written"));
    first.shift();
    expect(contents(await messagesOf(opened.saver, "t"))).toEqual(["hi", "answer 1"]);
  });
});

describe("each value is written once", () => {
  test("each message of 30 turns is one item, hot or cold", async () => {
    for (let turn = 0; turn < 30; turn += 1) {
      const saver = turn % 3 === 0 ? cold() : opened.saver;
      await chatGraph(saver).invoke({ messages: [new HumanMessage(`question ${turn}`)] }, thread("t"));
    }
    expect(await messagesOf(cold(), "t")).toHaveLength(60);
    expect(storedItems()).toBe(60);
  });

  test("a turn at 2,000 messages adds as little as a turn at 20", async () => {
    const grow = async (id: string, size: number): Promise<number> => {
      const seed = Array.from({ length: size }, (_, index) => new HumanMessage(`message ${index}`));
      await chatGraph(opened.saver).invoke({ messages: seed }, thread(id));
      const sizes =
        "SELECT (SELECT sum(length(data)) FROM checkpoint_rows) + (SELECT sum(length(data)) FROM checkpoint_writes)";
      const before = number(sizes);
      await chatGraph(opened.saver).invoke({ messages: [new HumanMessage("one more")] }, thread(id));
      return number(sizes) - before;
    };
    expect(await grow("long", 2000)).toBeLessThan((await grow("short", 20)) + 100);
  });

  test("a subgraph that receives 1,000 messages adds no item and no large row", async () => {
    const inner = new StateGraph(MessagesAnnotation)
      .addNode("look", (state) => ({ messages: [new AIMessage(`seen ${state.messages.length}`)] }))
      .addEdge(START, "look")
      .compile();
    const app = new StateGraph(MessagesAnnotation)
      .addNode("outer", async (state) => {
        const result = await inner.invoke({ messages: state.messages });
        return { messages: result.messages.slice(-1) };
      })
      .addEdge(START, "outer")
      .compile({ checkpointer: opened.saver });
    const seed = Array.from({ length: 1000 }, (_, index) => new HumanMessage(`message ${index}`));
    await app.invoke({ messages: seed }, thread("t"));
    expect(number("SELECT count(*) FROM checkpoint_namespaces")).toBe(2);
    expect(storedItems()).toBe(1001);
    expect(number("SELECT max(length(data)) FROM checkpoint_rows")).toBeLessThan(2000);
    expect(number("SELECT max(length(data)) FROM checkpoint_writes")).toBeLessThan(500);
  });

  test("elements that are rebuilt with the same content are recognised", async () => {
    const State = Annotation.Root({ list: Annotation<object[]>() });
    const app = new StateGraph(State)
      .addNode("copy", (state) => ({ list: [...state.list.map((entry) => ({ ...entry })), { made: "x".repeat(300) }] }))
      .addEdge(START, "copy")
      .compile({ checkpointer: opened.saver });
    await app.invoke({ list: [{ first: "y".repeat(600) }] }, thread("t"));
    const before = number("SELECT sum(length(data)) FROM checkpoint_items");
    const tuple = await opened.saver.getTuple(thread("t"));
    expect(tuple?.checkpoint.channel_values["list"]).toHaveLength(2);
    expect(before).toBeLessThan(3000);
  });
});

describe("an object that was changed in place and written again", () => {
  test.each([["hot"], ["cold"]])("is stored with its new content (%s)", async (kind) => {
    const build = (saver: BaseCheckpointSaver) =>
      new StateGraph(MessagesAnnotation)
        .addNode("change", (state) => {
          const message = state.messages[1];
          if (message === undefined)
            return { messages: [new AIMessage({ content: [{ type: "text", text: "old" }], id: "a" })] };
          const [block] = message.content as { text: string }[]; // as written above
          if (block !== undefined) block.text = "new";
          return { messages: [message] };
        })
        .addEdge(START, "change")
        .compile({ checkpointer: saver });
    await build(opened.saver).invoke({ messages: [new HumanMessage("hi")] }, thread("t"));
    await build(kind === "hot" ? opened.saver : cold()).invoke({ messages: [new HumanMessage("again")] }, thread("t"));
    const messages = await messagesOf(cold(), "t");
    expect(messages[1]?.content).toEqual([{ type: "text", text: "new" }]);
    const history = await collect(cold().list(thread("t")));
    const before = history.find((tuple) => tuple.metadata?.source === "loop" && tuple.metadata.step === 1);
    expect(before?.checkpoint.channel_values["messages"]).toMatchObject([{}, { content: [{ text: "old" }] }]);
  });
});

describe("a run that was interrupted", () => {
  function approvalGraph(saver: BaseCheckpointSaver) {
    return new StateGraph(MessagesAnnotation)
      .addNode("ask", () => ({
        messages: [new AIMessage({ content: `approved: ${interrupt({ question: "may I?" })}`, id: "a" })],
      }))
      .addNode("other", () => ({ messages: [new AIMessage({ content: "beside it", id: "b" })] }))
      .addEdge(START, "ask")
      .addEdge(START, "other")
      .compile({ checkpointer: saver });
  }

  test("keeps the writes of parallel tasks over a restart, and goes on with the answer", async () => {
    await approvalGraph(opened.saver).invoke(
      { messages: [new HumanMessage({ content: "do it", id: "h" })] },
      thread("t"),
    );
    opened.close();
    opened = openSaver(path);
    const app = approvalGraph(opened.saver);
    const state = await app.getState(thread("t"));
    expect(state.tasks.flatMap((task) => task.interrupts.map((waiting) => waiting.value))).toEqual([
      { question: "may I?" },
    ]);
    const result = await app.invoke(new Command({ resume: "yes" }), thread("t"));
    expect(contents(result.messages)).toEqual(["do it", "approved: yes", "beside it"]);
    expect(contents(await messagesOf(cold(), "t"))).toEqual(["do it", "approved: yes", "beside it"]);
  });

  test("keeps the answer when the same question is asked and answered twice", async () => {
    const app = approvalGraph(opened.saver);
    await app.invoke({ messages: [] }, thread("t"));
    await app.invoke(null, thread("t"));
    expect((await app.getState(thread("t"))).tasks.flatMap((task) => task.interrupts)).toHaveLength(1);
  });
});

describe("forks, copies and edits", () => {
  test("are read as from LangGraph's MemorySaver", async () => {
    const build = (saver: BaseCheckpointSaver) =>
      new StateGraph(
        Annotation.Root({
          log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
          last: Annotation<string>(),
        }),
      )
        .addNode("first", (state) => ({ log: [`first ${state.log.length} ${"x".repeat(300)}`], last: "first" }))
        .addNode("second", (state) => ({ log: [`second ${state.log.length}`], last: "y".repeat(600) }))
        .addEdge(START, "first")
        .addEdge("first", "second")
        .compile({ checkpointer: saver });
    const script = async (saver: BaseCheckpointSaver): Promise<unknown[]> => {
      const app = build(saver);
      const config = thread("t");
      await app.invoke({ log: ["go"] }, config);
      const states = await collectStates(app, config);
      await app.invoke(null, states[1]?.config ?? {});
      await app.updateState(states[2]?.config ?? {}, { log: ["edited"] }, "first");
      await app.invoke(null, config);
      await app.updateState(states[0]?.config ?? {}, null, "__copy__");
      await app.invoke({ log: ["again"] }, config);
      const seen = await collectStates(build(saver), config);
      return seen.map((state) => [state.values, state.next, state.metadata?.source, state.metadata?.step]);
    };
    const expected = await script(new MemorySaver());
    expect(await script(opened.saver)).toEqual(expected);
    const fromDisk = await collectStates(build(cold()), thread("t"));
    expect(fromDisk.map((state) => [state.values, state.next, state.metadata?.source, state.metadata?.step])).toEqual(
      expected,
    );
  });
});

describe("runs", () => {
  const config = (run: string) => ({ configurable: { thread_id: "t", run_id: run } });

  test("can be listed by their writes", async () => {
    const app = chatGraph(opened.saver);
    await app.invoke({ messages: [new HumanMessage("one")] }, config("run 1"));
    await app.invoke({ messages: [new HumanMessage("two")] }, config("run 2"));
    expect(opened.saver.hasRun("t", "run 1")).toBe(true);
    expect(cold().hasRun("t", "run 3")).toBe(false);
    expect(cold().hasRun("unknown", "run 1")).toBe(false);
    expect((await opened.saver.getTuple(thread("t")))?.metadata).toMatchObject({ run_id: "run 2" });
    const listed = await collect(cold().list(thread("t"), { filter: { run_id: "run 1" } }));
    expect(listed.map((tuple) => tuple.metadata?.source)).toEqual(["loop", "loop", "input"]);
  });

  test("can be repeated with the same id and another input, as with LangGraph's MemorySaver", async () => {
    const script = async (saver: BaseCheckpointSaver): Promise<unknown[]> => {
      const app = chatGraph(saver);
      await app.invoke({ messages: [new HumanMessage("one")] }, config("run 1"));
      await app.invoke({ messages: [new HumanMessage("two")] }, config("run 1"));
      return contents(await messagesOf(saver, "t"));
    };
    const expected = await script(new MemorySaver());
    expect(await script(opened.saver)).toEqual(expected);
    expect(expected).toEqual(["one", "answer 1", "two", "answer 3"]);
    const app = chatGraph(cold());
    await app.invoke({ messages: [new HumanMessage("three")] }, config("run 1"));
    expect((await app.getState(thread("t"))).metadata).toMatchObject({ run_id: "run 1" });
    expect(contents(await messagesOf(cold(), "t"))).toEqual([...expected, "three", "answer 5"]);
  });

  test("can be rolled back: the thread is as it was before", async () => {
    const app = chatGraph(opened.saver);
    await app.invoke({ messages: [new HumanMessage("one")] }, config("run 1"));
    const before = await cold().getTuple(thread("t"));
    await app.invoke({ messages: [new HumanMessage("two")] }, config("run 2"));
    await opened.saver.deleteRun("t", "run 2");
    expect(await opened.saver.getTuple(thread("t"))).toEqual(before);
    expect(opened.saver.hasRun("t", "run 2")).toBe(false);
    await app.invoke({ messages: [new HumanMessage("three")] }, config("run 3"));
    expect(contents(await messagesOf(cold(), "t"))).toEqual(["one", "answer 1", "three", "answer 3"]);
  });

  test("can be rolled back when later runs were built on them", async () => {
    const app = chatGraph(opened.saver);
    for (const run of ["1", "2", "3"]) await app.invoke({ messages: [new HumanMessage(run)] }, config(run));
    const before = await cold().getTuple(thread("t"));
    await opened.saver.deleteRun("t", "1");
    expect(await cold().getTuple(thread("t"))).toEqual(before);
  });
});

describe("removing", () => {
  test("a thread removes all its rows and none of other threads", async () => {
    const app = chatGraph(opened.saver);
    for (const id of ["gone", "kept"]) await app.invoke({ messages: [new HumanMessage("hi")] }, thread(id));
    await opened.saver.deleteThread("gone");
    expect(await opened.saver.getTuple(thread("gone"))).toBeUndefined();
    expect(await messagesOf(opened.saver, "kept")).toHaveLength(2);
    await opened.saver.deleteThread("kept");
    for (const table of ["threads", "namespaces", "runs", "rows", "writes", "blobs", "items"]) {
      expect(number(`SELECT count(*) FROM checkpoint_${table}`)).toBe(0);
    }
  });

  test.each([
    ["MessagesValue", MessagesValue],
    ["MessagesDeltaValue", MessagesDeltaValue],
  ])("all but the latest checkpoints keeps the state (%s)", async (_name, messages) => {
    const schema = new StateSchema({ messages: messages as typeof MessagesValue }); // both are message channels
    const app = parallelGraph(schema, opened.saver);
    for (let turn = 0; turn < 3; turn += 1) {
      await app.invoke({ messages: [new HumanMessage({ content: "u", id: `u${turn}` })] }, thread("t"));
    }
    const before = await app.getState(thread("t"));
    const rows = number("SELECT count(*) FROM checkpoint_rows");
    await opened.saver.prune("t", { keepLatest: 1 });
    const after = await parallelGraph(schema, cold()).getState(thread("t"));
    expect(after.values).toEqual(before.values);
    expect(number("SELECT count(*) FROM checkpoint_rows")).toBeLessThanOrEqual(rows);
    if (messages === MessagesValue) expect(number("SELECT count(*) FROM checkpoint_rows")).toBe(1);
    await app.invoke({ messages: [new HumanMessage({ content: "u", id: "last" })] }, thread("t"));
    expect((await app.getState(thread("t"))).values.messages).toHaveLength(before.values.messages.length + 1);
  });
});

describe("a database of the plain SqliteSaver", () => {
  test("is read, listed, continued and emptied", async () => {
    const old = SqliteSaver.fromConnString(join(folder, "old.db"));
    await chatGraph(old).invoke({ messages: [new HumanMessage("before")] }, thread("t"));
    old.db.close();
    opened.close();
    opened = openSaver(join(folder, "old.db"));
    expect(contents(await messagesOf(opened.saver, "t"))).toEqual(["before", "answer 1"]);
    await chatGraph(opened.saver).invoke({ messages: [new HumanMessage("after")] }, thread("t"));
    expect(contents(await messagesOf(cold(), "t"))).toEqual(["before", "answer 1", "after", "answer 3"]);
    expect(await collect(cold().list(thread("t")))).toHaveLength(6);
    await opened.saver.deleteThread("t");
    expect(await cold().getTuple(thread("t"))).toBeUndefined();
  });
});

describe("damage is detected and located", () => {
  test.each([["rows"], ["items"], ["writes"]])("in checkpoint_%s", async (table) => {
    const checkpoint = {
      ...emptyCheckpoint(),
      channel_values: { messages: [new HumanMessage("hi")] },
      channel_versions: { messages: 1 },
    };
    const config = await opened.saver.put(
      thread("damaged"),
      checkpoint,
      { source: "loop", step: 0, parents: {} },
      { messages: 1 },
    );
    await opened.saver.putWrites(config, [["messages", "more"]], uuid6(0));
    opened.database.raw.exec(`UPDATE checkpoint_${table} SET data = replace(data, 'm', 'n')`);
    await expect(cold().getTuple(thread("damaged"))).rejects.toMatchObject({
      code: "storage_corrupt",
      message: expect.stringContaining("damaged"),
    });
  });
});
