import { readFileSync, writeFileSync } from "node:fs";
import { enableCompileCache, getCompileCacheDir } from "node:module";
import { dirname } from "node:path";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import type { TypeJob } from "./graph-schemas.ts";

/**
 * A process of its own: `type-reader.ts <job> <answer>` asks the compiler for the schemas of a job's graphs and writes them,
 * in the job's order, `null` for a graph that was not found. It ends when its input does, as that of a killed server does.
 */
const [, , jobFile = "", answerFile = ""] = process.argv;

// The compiler is asked synchronously, in a thread: the process itself hears of its end.
if (isMainThread) {
  const thread = new Worker(import.meta.filename, {
    argv: [jobFile, answerFile],
    workerData: getCompileCacheDir?.(),
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  process.stdin.once("end", endGroup).resume();
  thread.once("exit", (code) => process.exit(code));
} else {
  // A thread does not keep what it compiles by itself, as the process does that it belongs to.
  if (typeof workerData === "string") enableCompileCache(dirname(workerData));
  // Here alone: the process that waits needs nothing of it.
  const { readGraphs } = await import("./typed-graphs.ts");
  const job = JSON.parse(readFileSync(jobFile, "utf8")) as TypeJob;
  writeFileSync(answerFile, JSON.stringify(readGraphs(job)));
}

/** With the compiler at once: a thread that waits for an answer would hold up an ordinary end. */
function endGroup(): void {
  try {
    process.kill(-process.pid, "SIGKILL");
  } catch {
    // No leader of a group, as where there are none.
    process.exit(1);
  }
}
