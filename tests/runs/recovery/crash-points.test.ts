import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type LangGraphRunnableConfig, END, START, StateGraph } from "@langchain/langgraph";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { RunEvent } from "@millrace/engine/run-events";
import type { Storage } from "@millrace/engine/storage/storage";
import { withAttempts, withWrites } from "../../support/test-storage.ts";
import { crashCopy, openIn } from "./crash-copy.ts";
import { collect, createRuns, createSession, never, request, serve, State } from "../fixtures.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-points-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Rounds of two parallel steps and one that joins them; each emits as many events as `plan` says, now and then. */
function talkingGraph(plan: readonly number[]) {
  let at = 0;
  const talk = (name: string) => async (_state: unknown, config: LangGraphRunnableConfig) => {
    const count = plan[at++ % plan.length] ?? 0;
    for (let index = 0; index < count; index += 1) {
      // Never the same twice: an id that is used again would be seen by its content.
      config.writer?.({ type: "said", name, by: crypto.randomUUID() });
      if (index % 2 === 0) await nextTurn();
    }
    return {};
  };
  return new StateGraph(State)
    .addNode("left", talk("left"))
    .addNode("right", talk("right"))
    .addNode("join", talk("join"))
    .addEdge(START, "left")
    .addEdge(START, "right")
    .addEdge(["left", "right"], "join")
    .addEdge("join", END)
    .compile();
}

interface Point {
  copy: string;
  /** What a reader had got when the checkpoint was being written. */
  received: RunEvent[];
}

/** A storage whose checkpoints and writes are each followed by a copy of the file, before any other code goes on. */
function withCopies(storage: Storage, received: RunEvent[], points: Point[]): Storage {
  const follow = (write: (...args: never[]) => Promise<unknown>) => {
    return async (...args: never[]): Promise<unknown> => {
      const before = [...received];
      const result = await write(...args);
      points.push({ copy: crashCopy(folder, join(folder, `copy-${crypto.randomUUID()}`)), received: before });
      return result;
    };
  };
  return withAttempts(storage, (store) => ({
    checkpointer: (events) => withWrites(store.checkpointer(events), follow),
  }));
}

const plain = (events: RunEvent[]): unknown => JSON.parse(JSON.stringify(events));

/** What a crash at this point leaves: all that was received, and after the next start nothing of it under another content. */
async function expectWhole({ copy, received }: Point, runId: string, plan: readonly number[]): Promise<void> {
  const storage = openIn(copy);
  try {
    const stored = await storage.events.read(runId, -1, 1000);
    expect(plain(stored.slice(0, received.length))).toEqual(plain(received));
    const runs = createRuns(storage, serve({ agent: talkingGraph(plan) }, storage.checkpointer));
    await runs.recover();
    const events = await collect(runs.follow(runId, -1, never));
    await runs.drain(0);
    const ids = events.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted((left, right) => left - right));
    const kept = new Map(events.map((event) => [event.id, event]));
    for (const event of stored) expect(plain([kept.get(event.id) ?? event])).toEqual(plain([event]));
    expect((await storage.runs.get(runId))?.status).toBe("success");
  } finally {
    await storage.close();
    await rm(copy, { recursive: true });
  }
}

it("loses nothing that was received before a checkpoint that is on disk, wherever the process ends", async () => {
  let count = 0;
  let total = 0;
  const plans = fc.array(fc.nat({ max: 6 }), { minLength: 3, maxLength: 9 });
  await fc.assert(
    fc.asyncProperty(plans, fc.constantFrom("sync" as const, "async" as const), async (plan, durability) => {
      await rm(folder, { recursive: true });
      folder = await mkdtemp(join(tmpdir(), "millrace-points-"));
      const file = openIn(folder);
      const seen: RunEvent[] = [];
      const points: Point[] = [];
      try {
        const storage = withCopies(file, seen, points);
        const runs = createRuns(storage, serve({ agent: talkingGraph(plan) }, file.checkpointer));
        const session = await createSession(file);
        const run = await runs.start(session, request("agent", { stream_mode: ["custom", "values"], durability }));
        for await (const event of runs.follow(run.run_id, -1, never)) seen.push(event);
        await runs.drain(0);
        for (const point of points) await expectWhole(point, run.run_id, plan);
      } finally {
        await file.close();
      }
      count += points.length;
      total += points.reduce((sum, point) => sum + point.received.length, 0);
    }),
    { numRuns: 14 },
  );
  expect(count).toBeGreaterThanOrEqual(100);
  expect(total).toBeGreaterThan(count);
  process.stdout.write(
    `crashes right after a checkpoint or a write: ${count}, with ${total} received events before them\n`,
  );
}, 120_000);
