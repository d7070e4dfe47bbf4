import { afterAll, beforeAll, expect, it } from "vitest";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runInThread, type ThreadTask } from "@millrace/engine/concurrency/run-in-thread";

const never = new AbortController().signal;
let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-thread-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Work that runs these lines. */
function work(lines: string, more: Partial<ThreadTask> = {}): ThreadTask {
  const path = join(folder, `${crypto.randomUUID()}.mjs`);
  writeFileSync(path, `import { parentPort, workerData } from "node:worker_threads";\n${lines}\n`);
  return {
    file: pathToFileURL(path),
    data: null,
    megabytes: 64,
    milliseconds: 30_000,
    late: () => new Error("too late"),
    broken: (cause) => new Error("broken", { cause }),
    ...more,
  };
}

it("gives the first thing that the thread says of what it was given", async () => {
  const asked = work('parentPort.postMessage(workerData + 1); parentPort.postMessage("more");', { data: 41 });
  expect(await runInThread(asked, never)).toBe(42);
});

it("gives the thread nothing of the process", async () => {
  const reply = "parentPort.postMessage([Object.keys(process.env), process.argv.slice(2)]);";
  expect(await runInThread(work(`console.log("not shown"); ${reply}`), never)).toEqual([[], []]);
});

it.each([
  ["fails", 'throw new Error("no");', "no"],
  ["ends without an answer", "", "without a word"],
  ["takes more memory than it may", "const all = []; for (;;) all.push(new Array(1e6).fill(0.5));", "memory"],
])("says so when the thread %s", async (_, lines, why) => {
  await expect(runInThread(work(lines), never)).rejects.toMatchObject({
    message: "broken",
    cause: { message: expect.stringMatching(new RegExp(why, "u")) },
  });
});

it("ends a thread that takes too long, also one that never comes to rest", async () => {
  await expect(runInThread(work("for (;;);", { milliseconds: 300 }), never)).rejects.toThrow("too late");
});

it("ends with a stop, and does not begin after one", async () => {
  const stop = new AbortController();
  const running = runInThread(work("for (;;);"), stop.signal);
  setImmediate(() => stop.abort(new Error("enough")));
  await expect(running).rejects.toThrow("enough");
  const missing = work("", { file: pathToFileURL(join(folder, "missing.mjs")) });
  await expect(runInThread(missing, stop.signal)).rejects.toThrow("enough");
});
