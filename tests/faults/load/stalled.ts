import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { atMost, quantile, type Scenario } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { getRun, newThread, openWorld, startRun, type World } from "../harness/world.ts";

/** 24 and 200 MB of events, as much as a run with much output says in several seconds. */
const outputs = { short: { events: 1200, size: 20_000, pause: 2 }, long: { events: 6000, size: 33_000, pause: 1 } };
type Output = (typeof outputs)["long"];

/** Readers that never read, on a run with much to say: they cost the server little and the run nothing (reliability E3). */
export const stalled: Scenario = {
  name: "stalled",
  async run({ long, say }) {
    const count = long ? 100 : 20;
    const output = long ? outputs.long : outputs.short;
    // Its figures depend on the machine: the short form only prints them, so that it measures each run once.
    const repeats = long ? 3 : 1;
    const world = await openWorld(answer);
    try {
      // The first run of a process compiles its code and grows its heap.
      if (long) await measured(world, output, 0);
      const alone: Measured[] = [];
      const watched: Measured[] = [];
      for (let repeat = 0; repeat < repeats; repeat += 1) {
        alone.push(await measured(world, output, 0));
        watched.push(await measured(world, output, count));
        say(`alone ${alone.at(-1)?.seconds.toFixed(2)} s, watched ${watched.at(-1)?.seconds.toFixed(2)} s`);
      }
      const seconds = (runs: Measured[]): number =>
        quantile(
          runs.map((run) => run.seconds),
          0.5,
        );
      const growth = Math.max(...watched.map(({ peak }) => peak)) - Math.max(...alone.map(({ peak }) => peak));
      const slower = (seconds(watched) / seconds(alone) - 1) * 100;
      return [
        atMost(`memory that ${count} readers who do not read add to the peak`, Math.max(0, growth), 50, "MB"),
        atMost("the run is slower by", Math.max(0, slower), 5, "%"),
      ];
    } finally {
      await world.close();
    }
  },
};

interface Measured {
  seconds: number;
  /** Resident memory at most, MB. */
  peak: number;
}

/** One run of much output with so many readers that never read. */
async function measured(world: World, output: Output, readers: number): Promise<Measured> {
  const { server } = world;
  const threadId = await newThread(server);
  const started = performance.now();
  const { run_id: runId } = await startRun(server, threadId, {
    assistant_id: "talker",
    input: output,
    stream_mode: ["custom"],
    stream_resumable: true,
  });
  const sockets = Array.from({ length: readers }, () =>
    stalledReader(server.port, `/threads/${threadId}/runs/${runId}/stream`),
  );
  let peak = 0;
  try {
    for (;;) {
      peak = Math.max(peak, residentMegabytes(server.pid));
      const run = await getRun(server, threadId, runId);
      if (run?.status === "success") break;
      if (run?.status !== "running" && run?.status !== "pending") throw new Error(`The run ended with ${run?.status}.`);
      await delay(20);
    }
    return { seconds: (performance.now() - started) / 1000, peak: Math.max(peak, residentMegabytes(server.pid)) };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function stalledReader(port: number, path: string): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.pause();
  socket.on("error", () => socket.destroy());
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`);
  return socket;
}

function residentMegabytes(pid: number | undefined): number {
  const line = /^VmRSS:\s+(\d+) kB/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1] ?? 0) / 1024;
}
