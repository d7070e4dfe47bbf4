import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

const Targets = z.array(z.looseObject({ webSocketDebuggerUrl: z.string() })).min(1);

/**
 * Makes a Node process that was started with `--inspect-port` collect its garbage, from outside: SIGUSR1 opens its inspector.
 * Without it, resident memory says how lazy the collector was, not what the program holds.
 */
export async function collectGarbage(pid: number, inspectorPort: number): Promise<void> {
  process.kill(pid, "SIGUSR1");
  const socket = new WebSocket(await inspectorAddress(inspectorPort));
  try {
    await once(socket, "open");
    // Twice: what finalisers let go in the first round leaves in the second.
    for (const id of [1, 2]) {
      const answered = once(socket, "message");
      socket.send(JSON.stringify({ id, method: "HeapProfiler.collectGarbage" }));
      await answered;
    }
  } finally {
    socket.close();
  }
}

async function inspectorAddress(port: number): Promise<string> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/json`).catch(() => undefined);
    const [target] = response === undefined ? [] : Targets.parse(await response.json());
    if (target !== undefined) return target.webSocketDebuggerUrl;
    await delay(50);
  }
  throw new Error(`No inspector answered on port ${port}.`);
}
