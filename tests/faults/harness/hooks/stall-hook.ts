import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { measurementFile } from "../measurement.ts";

/**
 * Loaded before the server by the scenario `lock` alone: on SIGUSR2 the process writes the longest stall of its event loop
 * since the last time, in microseconds, to a file in its folder.
 */
const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();

process.on("SIGUSR2", () => {
  writeFileSync(measurementFile, `${Math.max(1, Math.round(delays.max / 1000))}\n`);
  delays.reset();
});
