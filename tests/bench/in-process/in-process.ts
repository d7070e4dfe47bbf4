import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import Database from "better-sqlite3";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import type { Storage } from "@millrace/engine/storage/storage";
import type { Figure, Section } from "../figures.ts";
import { graph as historyGraph } from "../graphs/history.ts";
import { countdown, toolSteps } from "../graphs/steps.ts";
import { percentile } from "../servers/load.ts";

/** Targets of one turn, ms, by messages in the session: hot, and cold (the session read from the disk first). */
const turnTargets: Record<number, { hot: number; cold?: number }> = {
  10: { hot: 8, cold: 10 },
  1000: { hot: 10, cold: 20 },
  5000: { hot: 15, cold: 50 },
};

/** How much of everything is measured: turns by sizes of session, supersteps, and the turns and tool steps of long sessions. */
export interface InProcessAmounts {
  turns: number;
  sizes: number[];
  steps: number;
  long: { turns: number; steps: number };
}

/** Graphs in this process over our storage: turns of long sessions, supersteps, sizes on disk. */
export async function measureInProcess(amount: InProcessAmounts): Promise<Section[]> {
  const { turns: longTurns, steps: toolCalls } = amount.long;
  return [
    { title: "One turn of a long session, in process", figures: await turns(amount.sizes, amount.turns) },
    { title: "Supersteps, in process", figures: await supersteps(amount.steps) },
    { title: "Database size", figures: [await turnsOnDisk(longTurns / 5), ...(await toolStepsOnDisk(toolCalls))] },
    {
      title: "Long conversations (reliability, D5)",
      figures: [await largeTurns(0.3 * longTurns), await opening(longTurns)],
    },
  ];
}

async function turns(sizes: number[], count: number): Promise<Figure[]> {
  const figures: Figure[] = [];
  // The engine compiles what runs often; without this the first size would pay for all.
  await withStorage(async (store) => {
    for (let index = 0; index < 5 * count; index += 1) await takeTurn(store.open());
  });
  for (const size of sizes) {
    await withStorage(async (store) => {
      await fill(store.open(), size);
      const oneTurn = async (): Promise<number> => {
        const started = performance.now();
        await takeTurn(store.open());
        return performance.now() - started;
      };
      for (let index = 0; index < 3; index += 1) await oneTurn();
      const before = store.bytes();
      const written = bytesWritten();
      const hot: number[] = [];
      for (let index = 0; index < count; index += 1) hot.push(await oneTurn());
      const perTurn = (bytesWritten() - written) / count / 1024;
      const growth = (store.bytes() - before) / count / 1024;
      const cold: number[] = [];
      for (let index = 0; index < Math.ceil(count / 2); index += 1) {
        await store.close();
        // A turn of another session prepares the statements; this one is still only on the disk.
        await takeTurn(store.open(), "other");
        cold.push(await oneTurn());
      }
      const target = turnTargets[size];
      const name = `${size.toLocaleString("en")} messages`;
      figures.push(
        figure(`${name}, hot, p50`, percentile(hot, 50), "ms", target?.hot),
        figure(`${name}, cold, p50`, percentile(cold, 50), "ms", target?.cold),
        figure(`${name}: database growth per turn`, growth, "KB", size === 5000 ? 8 : undefined),
        figure(`${name}: written per turn, with the log`, perTurn, "KB"),
      );
    });
  }
  return figures;
}

async function supersteps(steps: number): Promise<Figure[]> {
  const bare = countdown.compile();
  await bare.invoke({ left: 50 }, { recursionLimit: 100 });
  const without = await cpuPer(steps, () => bare.invoke({ left: steps }, { recursionLimit: steps + 10 }));
  return await withStorage(async (store) => {
    const graph = countdown.compile({ checkpointer: store.open().checkpointer });
    const config = (thread: string): object => ({ configurable: { thread_id: thread }, recursionLimit: steps + 10 });
    await graph.invoke({ left: 50 }, config("warm"));
    const saved = await cpuPer(steps, () => graph.invoke({ left: steps }, config("measured")));
    return [
      figure("a superstep of a no-op node, without a saver, CPU", without, "ms"),
      figure("the same with our saver, durability sync, CPU", saved, "ms", 1.6),
    ];
  });
}

async function turnsOnDisk(count: number): Promise<Figure> {
  return await withStorage(async (store) => {
    for (let index = 0; index < count; index += 1) await takeTurn(store.open());
    return figure(`after ${count} turns`, store.bytes() / 1024 / 1024, "MB", 2);
  });
}

/** Turns of 2.5 KB: of 300, plain SqliteSaver makes 397 MB. */
async function largeTurns(count: number): Promise<Figure> {
  return await withStorage(async (store) => {
    for (let index = 0; index < count; index += 1) await takeTurn(store.open(), "large", 2300);
    return figure(`after ${count} turns of 2.5 KB`, store.bytes() / 1024 / 1024, "MB", 10);
  });
}

/** A session of many turns, read as a reader of its state does, by a process that has only just opened the file. */
async function opening(count: number): Promise<Figure> {
  return await withStorage(async (store) => {
    for (let index = 0; index < count; index += 1) await takeTurn(store.open());
    const times: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      await store.close();
      const started = performance.now();
      const graph = historyGraph.compile({ checkpointer: store.open().checkpointer });
      const { values } = await graph.getState({ configurable: { thread_id: "long" } });
      if (values.messages.length !== 2 * count) {
        throw new Error(`Expected ${2 * count} messages, got ${values.messages.length}.`);
      }
      times.push(performance.now() - started);
    }
    return figure(`a session of ${count} turns opens, with its database, p50`, percentile(times, 50), "ms", 200);
  });
}

async function toolStepsOnDisk(steps: number): Promise<Figure[]> {
  const bare = toolSteps.compile();
  const without = await wallPer(steps, () => bare.invoke({ left: steps }, { recursionLimit: 500 }));
  // Both are measured warm; the warm pass has a store of its own, so that the size is that of one thread.
  await withStorage(async (store) => {
    const graph = toolSteps.compile({ checkpointer: store.open().checkpointer });
    for (const thread of ["first", "second"]) {
      await graph.invoke({ left: steps }, { configurable: { thread_id: thread }, recursionLimit: 500 });
    }
  });
  return await withStorage(async (store) => {
    const graph = toolSteps.compile({ checkpointer: store.open().checkpointer });
    const config = { configurable: { thread_id: "tools" }, recursionLimit: 500 };
    const begin = performance.now();
    await graph.invoke({ left: steps }, config);
    const saved = (performance.now() - begin) / steps;
    return [
      figure(`after ${steps} tool steps of 2 KB`, store.bytes() / 1024 / 1024, "MB", 2),
      figure("what each of them takes longer than without a saver", saved - without, "ms", 2),
    ];
  });
}

/** Wall milliseconds of one step, after a first pass that warms up. */
async function wallPer(steps: number, work: () => Promise<unknown>): Promise<number> {
  await work();
  await work();
  const begin = performance.now();
  await work();
  return (performance.now() - begin) / steps;
}

async function takeTurn(storage: Storage, thread = "long", length = 200): Promise<void> {
  const graph = historyGraph.compile({ checkpointer: storage.checkpointer });
  const message = new HumanMessage({ id: crypto.randomUUID(), content: "h".repeat(length) });
  await graph.invoke({ messages: [message] }, { configurable: { thread_id: thread } });
}

async function fill(storage: Storage, size: number): Promise<void> {
  const graph = historyGraph.compile({ checkpointer: storage.checkpointer });
  const messages: BaseMessage[] = Array.from({ length: size }, (_, index) => {
    const fields = { id: crypto.randomUUID(), content: `${index} `.padEnd(200, "m") };
    return index % 2 === 0 ? new HumanMessage(fields) : new AIMessage(fields);
  });
  await graph.updateState({ configurable: { thread_id: "long" } }, { messages }, "answer");
}

interface OpenStore {
  /** The storage, opened when it is not. */
  open(): Storage;
  close(): Promise<void>;
  /** Size of the database with everything in it, the write-ahead log emptied first. */
  bytes(): number;
}

async function withStorage<Result>(work: (store: OpenStore) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  const path = join(folder, "bench.db");
  let storage: Storage | undefined;
  const store: OpenStore = {
    open: () => (storage ??= createSqliteStorage(path)),
    close: async () => {
      await storage?.close();
      storage = undefined;
    },
    bytes: () => sizeOf(path),
  };
  try {
    return await work(store);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function sizeOf(path: string): number {
  const database = new Database(path);
  try {
    database.pragma("wal_checkpoint(TRUNCATE)");
    return (
      Number(database.pragma("page_count", { simple: true })) * Number(database.pragma("page_size", { simple: true }))
    );
  } finally {
    database.close();
  }
}

/** Bytes this process has passed to write() so far. */
function bytesWritten(): number {
  return Number(/^wchar: (\d+)/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1] ?? 0);
}

async function cpuPer(count: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / count;
}

function figure(measure: string, value: number, unit: string, max?: number): Figure {
  return { measure, value, unit, ...(max === undefined ? {} : { max }) };
}
