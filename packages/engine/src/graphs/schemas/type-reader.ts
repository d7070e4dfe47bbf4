import { readFileSync, writeFileSync } from "node:fs";
import { enableCompileCache, getCompileCacheDir } from "node:module";
import { dirname } from "node:path";
import { isMainThread, Worker, workerData } from "node:worker_threads";
import type { TypeJob } from "./graph-schemas.ts";

/**
 * A separate process: `type-reader.ts <job> <answer>` writes the compiler's schemas of a job's graphs in the job's
 * order, `null` for a graph not found. It ends when its input closes, as a killed server's does.
 */
const [, , jobFile = "", answerFile = ""] = process.argv;

// The compiler is called synchronously, in a thread, so that the process itself notices its end.
if (isMainThread) {
  const thread = new Worker(import.meta.filename, {
    argv: [jobFile, answerFile],
    workerData: getCompileCacheDir?.(),
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  process.stdin.once("end", endGroup).resume();
  thread.once("exit", (code) => process.exit(code));
} else {
  // Threads do not inherit the compile cache of their process.
  if (typeof workerData === "string") enableCompileCache(dirname(workerData));
  // Imported here: the waiting main thread needs none of it.
  const { readGraphs } = await import("./typed-graphs.ts");
  const job = JSON.parse(readFileSync(jobFile, "utf8")) as TypeJob;
  writeFileSync(answerFile, JSON.stringify(readGraphs(job)));
}

/** Ends the compiler, too: a thread waiting for an answer would delay a normal exit. */
function endGroup(): void {
  try {
    process.kill(-process.pid, "SIGKILL");
  } catch {
    // Not a group leader, for example on systems without groups.
    process.exit(1);
  }
}
