import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Figure, Section } from "../figures.ts";
import { createThreads, percentile, streamRun, type RunBody } from "./load.ts";
import { bundledServer, residentOf, startMillrace, type ServerUnderTest } from "./servers.ts";

/** How much is measured, and the milliseconds after which a server has given back what it does not need: after its start, and later. */
export interface RestAmounts {
  starts: number;
  turns: number;
  waits: [number, number];
}

/** Resident memory beyond that of Node alone, MB. */
interface Beyond {
  started: number;
  /** The most there was at the end of a turn. */
  atWork: number;
  rested: number;
}

/**
 * What the server takes beyond Node alone (PERF-01): after its start, in a conversation, and at rest after it. The median
 * of a few starts; of the bundle too, as `npm run build` left it.
 */
export async function measureRest(modelUrl: string, { starts, turns, waits }: RestAmounts): Promise<Section> {
  const node = await nodeAlone();
  const figures = await figuresOf("", () => startMillrace(modelUrl));
  if (existsSync(bundledServer)) {
    figures.push(...(await figuresOf("bundled, ", () => startMillrace(modelUrl, { bundled: true }))));
  }
  return { title: `Memory beyond Node alone (${node.toFixed(0)} MB), ${starts} starts`, figures };

  async function figuresOf(which: string, start: () => Promise<ServerUnderTest>): Promise<Figure[]> {
    const found: Beyond[] = [];
    for (let index = 0; index < starts; index += 1) found.push(await oneStart(await start(), node, { turns, waits }));
    const figure = (state: keyof Beyond, words: string): Figure => {
      const values = found.map((beyond) => beyond[state]);
      const note = `${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)}`;
      return { measure: `${which}${words}`, value: percentile(values, 50), unit: "MB", max: 100, note };
    };
    return [
      figure("started", "at rest after the start"),
      figure("atWork", `in a conversation of ${turns} turns, the most`),
      figure("rested", "at rest after the conversation"),
    ];
  }
}

async function oneStart(
  server: ServerUnderTest,
  node: number,
  { turns, waits: [afterStart, atLast] }: Pick<RestAmounts, "turns" | "waits">,
): Promise<Beyond> {
  const beyond = (): number => server.residentMb() - node;
  const body: RunBody = {
    assistant: "agent",
    input: { messages: [{ role: "user", content: "What is the value of the answer?" }] },
    context: { mode: "free_work" },
  };
  try {
    await delay(afterStart);
    const started = beyond();
    const [thread = ""] = await createThreads(server.url, 1);
    let atWork = 0;
    for (let turn = 0; turn < turns; turn += 1) {
      await streamRun(server.url, thread, body);
      atWork = Math.max(atWork, beyond());
    }
    await delay(atLast);
    return { started, atWork, rested: beyond() };
  } finally {
    await server.stop();
  }
}

async function nodeAlone(): Promise<number> {
  const child = spawn(process.execPath, ["-e", 'process.stdout.write("."); setInterval(() => undefined, 1e9);'], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    await once(child.stdout, "data");
    await delay(1000);
    return residentOf(child.pid ?? 0);
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}
