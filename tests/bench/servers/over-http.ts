import { existsSync } from "node:fs";
import type { Figure, Section } from "../figures.ts";
import { createThreads, percentile, post, streamRun, waitRun, type RunBody } from "./load.ts";
import { bundledServer, startMillrace, startPeer, type ServerUnderTest } from "./servers.ts";

/** One turn by `/runs/wait` (whose answer is the whole state) and by a stream of `updates`, after `size` messages. */
export async function measureTurns(servers: ServerUnderTest[], sizes: number[], count: number): Promise<Section> {
  const figures: Figure[] = [];
  for (const size of sizes) {
    const results = [];
    for (const server of servers) results.push({ name: server.name, ...(await turnsOf(server, size, count)) });
    const ours = results.find(({ name }) => name === "millrace");
    const peer = results.find(({ name }) => name === "peer");
    if (ours === undefined) continue;
    for (const way of ["wait", "stream"] as const) {
      figures.push({
        measure: `${size.toLocaleString("en")} messages, ${way === "wait" ? "wait" : "stream of updates"}, p50`,
        value: ours[way],
        unit: "ms",
        ...(peer === undefined ? {} : { peer: peer[way] }),
      });
    }
  }
  return { title: "One turn of a long session, over HTTP", figures };
}

interface MemoryReading {
  /** In the midst of work, with whatever garbage lies there. */
  busy: number;
  /** After the garbage was collected; of the peer, the same as `busy`. */
  collected: number;
}

/** Resident memory after a first and after a last number of agent runs; the growth is the figure. */
export async function measureMemory(servers: ServerUnderTest[], first: number, last: number): Promise<Section> {
  const body: RunBody = { assistant: "react", input: { messages: [{ role: "user", content: "What is the value?" }] } };
  const readings: Partial<Record<ServerUnderTest["name"], [MemoryReading, MemoryReading]>> = {};
  for (const server of servers) {
    await manyRuns(server, body, first);
    const before = await readMemory(server);
    await manyRuns(server, body, last - first);
    readings[server.name] = [before, await readMemory(server)];
  }
  const figure = (state: keyof MemoryReading, words: string): Figure => {
    const growth = (pair: [MemoryReading, MemoryReading] | undefined): number =>
      pair === undefined ? Number.NaN : pair[1][state] - pair[0][state];
    return {
      measure: `resident memory ${words}, growth from run ${first} to ${last} (agent)`,
      value: growth(readings.millrace),
      unit: "MB",
      note: `after ${last} runs: ${readings.millrace?.[1][state].toFixed(0) ?? "?"} MB`,
      ...(last >= 5000 ? { max: 50 } : {}),
      ...(readings.peer === undefined ? {} : { peer: growth(readings.peer) }),
    };
  };
  return { title: "Memory", figures: [figure("busy", "in the midst of work"), figure("collected", "without garbage")] };
}

async function readMemory(server: ServerUnderTest): Promise<MemoryReading> {
  const busy = server.residentMb();
  await server.collectGarbage?.();
  return { busy, collected: server.residentMb() };
}

/** From the start of the process to the first answer, the median of a few starts. */
export async function measureStart(modelUrl: string, peerFolder: string | undefined, count: number): Promise<Section> {
  const medianOf = async (start: () => Promise<ServerUnderTest>): Promise<number> => {
    const times: number[] = [];
    for (let index = 0; index < count; index += 1) {
      const server = await start();
      times.push(server.readyMs / 1000);
      await server.stop();
    }
    return percentile(times, 50);
  };
  const value = await medianOf(() => startMillrace(modelUrl));
  const peer = peerFolder === undefined ? {} : { peer: await medianOf(() => startPeer(peerFolder, modelUrl)) };
  const first = await medianOf(() => startMillrace(modelUrl, { isFirst: true }));
  const figures: Figure[] = [
    { measure: "start to ready", value, unit: "s", max: 2, ...peer },
    { measure: "start to ready, nothing kept of an earlier start", value: first, unit: "s", max: 2 },
  ];
  if (existsSync(bundledServer)) {
    const bundled = await medianOf(() => startMillrace(modelUrl, { bundled: true }));
    figures.push({ measure: "start to ready, bundled", value: bundled, unit: "s", note: "as npm run build left it" });
  }
  return { title: "Start", figures };
}

async function turnsOf(
  server: ServerUnderTest,
  size: number,
  count: number,
): Promise<{ wait: number; stream: number }> {
  const [thread] = await createThreads(server.url, 1);
  if (thread === undefined) throw new Error("No thread was made.");
  const body = (): RunBody => ({
    assistant: "history",
    input: { messages: [{ role: "user", content: "h".repeat(200) }] },
    streamMode: ["updates"],
  });
  // The first run says which graph the thread belongs to; only then can its state be written.
  await waitRun(server.url, thread, body());
  const messages = Array.from({ length: size }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `${index} `.padEnd(200, "m"),
  }));
  await post(`${server.url}/threads/${thread}/state`, { values: { messages }, as_node: "answer" });
  const wait: number[] = [];
  const stream: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const started = performance.now();
    await waitRun(server.url, thread, body());
    wait.push(performance.now() - started);
    stream.push((await streamRun(server.url, thread, body())).end);
  }
  return { wait: percentile(wait, 50), stream: percentile(stream, 50) };
}

async function manyRuns(server: ServerUnderTest, body: RunBody, count: number): Promise<void> {
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const [thread] = await createThreads(server.url, 1);
      if (thread !== undefined) await waitRun(server.url, thread, body);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}
