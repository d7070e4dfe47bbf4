import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { World } from "./world.ts";

/** The name of the file in the server's folder that a hook writes its measurement to. */
export const measurementFile = "measurement";

/** The number that the server's hook measures on SIGUSR2 (see `heap-hook.ts`, `stall-hook.ts`). Throws after 10 s. */
export async function readMeasurement(world: World): Promise<number> {
  const file = join(world.folder, measurementFile);
  rmSync(file, { force: true });
  const { pid } = world.server;
  if (pid === undefined) throw new Error("The server has ended.");
  process.kill(pid, "SIGUSR2");
  for (let attempt = 0; attempt < 500; attempt += 1) {
    try {
      const number = Number(readFileSync(file, "utf8"));
      if (number > 0) return number;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
    await delay(20);
  }
  throw new Error("The server did not write its measurement in 10 s.");
}
