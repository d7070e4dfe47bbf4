import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLocks } from "../../src/tools/runtime/locks.ts";

const never = new AbortController().signal;

/** Work that stays until it is let go, and reports that it has begun. */
function aTask() {
  const gate = Promise.withResolvers<void>();
  const state = { begun: false };
  return {
    state,
    end: gate.resolve,
    work: () => {
      state.begun = true;
      return gate.promise;
    },
  };
}

/** Lets everything run that can run now. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

async function conflict(first: string[], second: string[]): Promise<boolean> {
  const locks = createLocks();
  const [one, other] = [aTask(), aTask()];
  const both = [locks.withLocks(first, never, one.work), locks.withLocks(second, never, other.work)];
  await settle();
  expect(one.state.begun).toBe(true);
  const hadToWait = !other.state.begun;
  one.end();
  other.end();
  await Promise.all(both);
  return hadToWait;
}

describe("locks", () => {
  it.each([
    ["two readers of one file share it", ["read:/w/a"], ["read:/w/a"], false],
    ["a writer waits for a reader", ["read:/w/a"], ["write:/w/a"], true],
    ["a reader waits for a writer", ["write:/w/a"], ["read:/w/a"], true],
    ["two files are independent", ["write:/w/a"], ["write:/w/b"], false],
    ["a folder covers what is below it", ["write:/w/a"], ["write:/w/a/b"], true],
    ["what is below a folder keeps the folder", ["write:/w/a/b"], ["read:/w/a"], true],
    ["a name that begins alike is another one", ["write:/w/a"], ["write:/w/ab"], false],
    ["case does not distinguish two files", ["write:/w/A"], ["write:/w/a"], true],
    ["forms of one letter do not distinguish two files", ["write:/w/\u00e9"], ["write:/w/e\u0301"], true],
    ["the whole workspace covers everything", ["read:/w/"], ["write:/w/a/b"], true],
    ["a class excludes itself", ["web"], ["web"], true],
    ["classes are independent", ["web"], ["search"], false],
    ["no keys, no waiting", [], ["write:/w/"], false],
    ["one common key is enough", ["write:/w/a", "web"], ["write:/w/b", "web"], true],
  ])("%s", async (_, first, second, expected) => {
    expect(await conflict(first, second)).toBe(expected);
  });

  it("is fair: a reader waits behind a waiting writer", async () => {
    const locks = createLocks();
    const [reader, writer, late] = [aTask(), aTask(), aTask()];
    const all = [
      locks.withLocks(["read:/a"], never, reader.work),
      locks.withLocks(["write:/a"], never, writer.work),
      locks.withLocks(["read:/a"], never, late.work),
    ];
    await settle();
    expect([reader, writer, late].map((task) => task.state.begun)).toEqual([true, false, false]);
    reader.end();
    await settle();
    expect(late.state.begun).toBe(false);
    writer.end();
    late.end();
    await Promise.all(all);
  });

  it("gives the keys back when the work throws, and passes the error on", async () => {
    const locks = createLocks();
    await expect(locks.withLocks(["web"], never, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    await expect(locks.withLocks(["web"], never, async () => "next")).resolves.toBe("next");
  });

  it("rejects a request aborted while waiting, and grants the next one", async () => {
    const locks = createLocks();
    const [holder, next] = [aTask(), aTask()];
    const stop = new AbortController();
    const held = locks.withLocks(["read:/a"], never, holder.work);
    const aborted = locks.withLocks(["write:/a"], stop.signal, async () => "never");
    const passed = locks.withLocks(["read:/a"], never, next.work);
    stop.abort();
    await expect(aborted).rejects.toMatchObject({ code: "cancelled" });
    await settle();
    expect(next.state.begun).toBe(true);
    holder.end();
    next.end();
    await Promise.all([held, passed]);
  });

  it("does not begin for a signal that is aborted already", async () => {
    const locks = createLocks();
    const task = aTask();
    await expect(locks.withLocks(["web"], AbortSignal.abort(), task.work)).rejects.toMatchObject({ code: "cancelled" });
    expect(task.state.begun).toBe(false);
  });

  it("keeps every conflict apart and ends, whatever the order of events", async () => {
    const key = fc.constantFrom("read:/w", "read:/w/a", "write:/w/a", "write:/w/a/b", "write:/w/c", "web");
    const call = fc.record({ keys: fc.uniqueArray(key, { maxLength: 3 }), isAborted: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(call, { minLength: 2, maxLength: 8 }), async (scheduler, calls) => {
        const locks = createLocks();
        const running = new Set<string[]>();
        const done = calls.map(async ({ keys, isAborted }, index) => {
          const stop = new AbortController();
          const work = locks.withLocks(keys, stop.signal, async () => {
            for (const other of running) {
              // Any two of these keys exclude each other unless both read, or they name different things.
              const clash = keys.some((one) => other.some((two) => exclude(one, two)));
              if (clash) throw new Error(`${keys.join()} ran beside ${other.join()}`);
            }
            running.add(keys);
            await scheduler.schedule(Promise.resolve(), `work ${index}`);
            running.delete(keys);
          });
          if (isAborted) void scheduler.schedule(Promise.resolve(), `abort ${index}`).then(() => stop.abort());
          await work.catch((error: unknown) => {
            if (!(error instanceof Error && "code" in error && error.code === "cancelled")) throw error;
          });
        });
        await scheduler.waitFor(Promise.all(done));
        // Everything was given back: the widest lock is free at once.
        expect(await locks.withLocks(["write:/", "web"], never, async () => "free")).toBe("free");
      }),
      { numRuns: 200 },
    );
  });
});

/** The rule written down a second time, for these keys only. */
function exclude(one: string, two: string): boolean {
  if (one === "web" || two === "web") return one === two;
  if (one.startsWith("read:") && two.startsWith("read:")) return false;
  const [first = "", second = ""] = [one, two].map((key) => `${key.replace(/^\w+:/, "")}/`);
  return first.startsWith(second) || second.startsWith(first);
}

describe("slots", () => {
  it("run at most so many of one group at once, in order, and groups apart", async () => {
    const locks = createLocks();
    const tasks = Array.from({ length: 5 }, aTask);
    const other = aTask();
    const all = tasks.map((task) => locks.withSlot("one", 3, never, task.work));
    const apart = locks.withSlot("two", 3, never, other.work);
    await settle();
    expect(tasks.map((task) => task.state.begun)).toEqual([true, true, true, false, false]);
    expect(other.state.begun).toBe(true);
    tasks[1]?.end();
    await settle();
    expect(tasks.map((task) => task.state.begun)).toEqual([true, true, true, true, false]);
    for (const task of [...tasks, other]) task.end();
    await Promise.all([...all, apart]);
    expect(tasks.every((task) => task.state.begun)).toBe(true);
  });

  it("are not lost when a waiting call is aborted at the moment one is freed", async () => {
    const locks = createLocks();
    const holder = aTask();
    const stop = new AbortController();
    const held = locks.withSlot("one", 1, never, holder.work);
    const waiting = locks.withSlot("one", 1, stop.signal, async () => "ran").catch(() => "cancelled");
    await settle();
    stop.abort();
    holder.end();
    await held;
    expect(await waiting).toBe("cancelled");
    await expect(locks.withSlot("one", 1, never, async () => "free")).resolves.toBe("free");
  });
});
