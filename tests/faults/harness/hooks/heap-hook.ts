import { writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { measurementFile } from "../measurement.ts";

/**
 * Loaded before the server in the soak alone: on SIGUSR2 the process collects its garbage and writes the bytes its heap still
 * holds to a file in its folder.
 */
setFlagsFromString("--expose-gc");
// The function that the flag adds; a new context has it, this one was made before.
const collect = runInNewContext("gc") as () => void;

process.on("SIGUSR2", () => {
  // Twice: what finalisers let go in the first round leaves in the second.
  collect();
  setImmediate(() => {
    collect();
    writeFileSync(measurementFile, `${process.memoryUsage().heapUsed}\n`);
  });
});
