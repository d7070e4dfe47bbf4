import { show, target, verdict, type Figure, type Section } from "../figures.ts";
import { askModel, burst, createThreads, percentile, streamRun, waitRun, type Burst, type RunBody } from "./load.ts";
import type { ServerUnderTest } from "./servers.ts";

/** How much is measured. */
export interface Amount {
  /** Runs of a cheap graph at one client; agents take a quarter of it. */
  runs: number;
  concurrency: number[];
  /** Runs before those that count. */
  warm: number;
}

const question = { messages: [{ role: "user", content: "What is the value of the answer?" }] };
const graphs: Record<string, RunBody> = {
  "no-op": { assistant: "noop", input: { value: "x" } },
  "createReactAgent, five tool calls": { assistant: "react", input: question },
  "workflow, five tool calls": { assistant: "agent", input: question, context: { mode: "free_work" } },
};

interface Target {
  p50?: number;
  cpuMs?: number;
  runsPerSecond?: number;
  minRatio?: number;
}

const agentTargets: Record<string, Target> = {
  "wait 1": { p50: 85 },
  "wait 8": { cpuMs: 65 },
  "wait 32": { runsPerSecond: 15 },
  "stream 32": { runsPerSecond: 11 },
};

/** The "Millrace first" column of the design, by graph, way and clients. The workflow is held to the agent's figures. */
const targets: Record<string, Record<string, Target>> = {
  "no-op": { "wait 1": { p50: 14, minRatio: 40 }, "wait 32": { runsPerSecond: 110 } },
  "createReactAgent, five tool calls": agentTargets,
  "workflow, five tool calls": agentTargets,
};

const head = ["run", "clients", "p50 ms", "p99 ms", "runs/s", "server CPU ms/run", "target", "verdict"];
const peerHead = ["peer p50", "peer p99", "peer runs/s", "peer CPU", "p50 ratio", "CPU ratio"];

/** Latency, throughput and CPU of whole runs, by `/runs/wait` and `/runs/stream`. */
export async function measureRuns(servers: ServerUnderTest[], amount: Amount): Promise<Section> {
  const figures: Figure[] = [];
  const withPeer = servers.some(({ name }) => name === "peer");
  const rows: string[][] = [withPeer ? [...head, ...peerHead] : head];
  for (const [graph, body] of Object.entries(graphs)) {
    for (const way of ["wait", "stream"] as const) {
      for (const clients of amount.concurrency) {
        const total = Math.max(clients, graph === "no-op" ? amount.runs : Math.ceil(amount.runs / 4));
        const results = await eachServer(servers, body.assistant, (server) =>
          cell(server, body, { way, clients, total, warm: amount.warm }),
        );
        const { millrace, peer } = results;
        if (millrace === undefined) continue;
        const own = figuresOf(
          `${graph}, ${way}, ${clients}`,
          targets[graph]?.[`${way} ${clients}`] ?? {},
          millrace,
          peer,
        );
        figures.push(...own);
        rows.push([
          `${graph}, ${way}`,
          String(clients),
          ...numbers(millrace),
          own.map((figure) => `${figure.measure.split(": ")[1] ?? ""} ${target(figure)}`).join(", "),
          own.map(verdict).join(", "),
          ...(peer === undefined
            ? []
            : [...numbers(peer), `${show(peer.p50 / millrace.p50)}x`, `${show(peer.cpuMs / millrace.cpuMs)}x`]),
        ]);
      }
    }
  }
  return { title: "Runs", figures, rows };
}

function numbers({ p50, p99, runsPerSecond, cpuMs }: Burst): string[] {
  return [p50, p99, runsPerSecond, cpuMs].map(show);
}

/** First token, end of the stream after the last one, and CPU per token, on a graph of one model call. */
export async function measureTokens(
  servers: ServerUnderTest[],
  modelUrl: string,
  amount: Pick<Amount, "runs">,
): Promise<Section> {
  const raw: number[] = [];
  for (let index = 0; index < amount.runs; index += 1) raw.push(await askModel(modelUrl));
  const results = await eachServer(servers, "chat", (server) => tokens(server, amount));
  const pick = (name: keyof TokenTimes): { value: number; peer?: number } => ({
    value: results.millrace?.[name] ?? Number.NaN,
    ...(results.peer === undefined ? {} : { peer: results.peer[name] }),
  });
  const note = `the model alone: ${percentile(raw, 50).toFixed(2)} ms`;
  return {
    title: "Tokens (one model call, one client)",
    figures: [
      { measure: "first token, p50", unit: "ms", max: 20, note, ...pick("first50") },
      { measure: "first token, p99", unit: "ms", ...pick("first99") },
      { measure: "last token to end of stream, p50", unit: "ms", max: 10, ...pick("end50") },
      { measure: "server CPU per streamed token", unit: "us", max: 150, ...pick("cpuUs") },
    ],
  };
}

interface TokenTimes {
  first50: number;
  first99: number;
  end50: number;
  cpuUs: number;
}

async function tokens(server: ServerUnderTest, amount: Pick<Amount, "runs">): Promise<TokenTimes> {
  const body = (words: number): RunBody => ({
    assistant: "chat",
    input: { messages: [{ role: "user", content: `words:${words}` }] },
  });
  const threads = await createThreads(server.url, amount.runs + 5);
  for (const thread of threads.splice(0, 5)) await streamRun(server.url, thread, body(20));
  const times = [];
  for (const thread of threads) times.push(await streamRun(server.url, thread, body(20)));
  // A token's price is the difference between long and short answers, so that the price of a run falls out.
  const cpu = async (words: number, count: number): Promise<number> => {
    const own = await createThreads(server.url, count);
    const before = server.cpuMs();
    for (const thread of own) await streamRun(server.url, thread, body(words));
    return (server.cpuMs() - before) / count;
  };
  const count = Math.ceil(amount.runs / 10);
  await cpu(1020, 2);
  const [short, long] = [await cpu(20, count), await cpu(1020, count)];
  return {
    first50: percentile(
      times.map((time) => time.firstToken),
      50,
    ),
    first99: percentile(
      times.map((time) => time.firstToken),
      99,
    ),
    end50: percentile(
      times.map((time) => time.end - time.lastToken),
      50,
    ),
    // ms per 1,000 tokens is us per token.
    cpuUs: long - short,
  };
}

async function cell(
  server: ServerUnderTest,
  body: RunBody,
  { way, clients, total, warm }: { way: "wait" | "stream"; clients: number; total: number; warm: number },
): Promise<Burst> {
  const threads = await createThreads(server.url, total + warm);
  const run = async (thread: string): Promise<unknown> =>
    way === "wait" ? await waitRun(server.url, thread, body) : await streamRun(server.url, thread, body);
  for (const thread of threads.splice(0, warm)) await run(thread);
  return await burst({ total, concurrency: clients, cpu: () => server.cpuMs() }, async (index) => {
    const thread = threads[index];
    if (thread !== undefined) await run(thread);
  });
}

/** Measures the servers one after the other; the peer does not have our workflow. */
async function eachServer<Result>(
  servers: ServerUnderTest[],
  assistant: string,
  measure: (server: ServerUnderTest) => Promise<Result>,
): Promise<Partial<Record<ServerUnderTest["name"], Result>>> {
  const results: Partial<Record<ServerUnderTest["name"], Result>> = {};
  for (const server of servers) {
    if (server.name === "peer" && assistant === "agent") continue;
    results[server.name] = await measure(server);
  }
  return results;
}

/** The figures of a cell that have a target. */
function figuresOf(measure: string, limits: Target, ours: Burst, peer: Burst | undefined): Figure[] {
  const figures: Figure[] = [];
  const add = (name: "p50" | "cpuMs" | "runsPerSecond", words: string, unit: string, limit: Partial<Figure>): void => {
    const other = peer === undefined ? {} : { peer: peer[name] };
    figures.push({ measure: `${measure}: ${words}`, unit, value: ours[name], ...other, ...limit });
  };
  const ratio = limits.minRatio === undefined ? {} : { minRatio: limits.minRatio };
  if (limits.p50 !== undefined) add("p50", "p50", "ms", { max: limits.p50, ...ratio });
  if (limits.cpuMs !== undefined) add("cpuMs", "CPU", "ms", { max: limits.cpuMs });
  if (limits.runsPerSecond !== undefined) add("runsPerSecond", "rate", "runs/s", { min: limits.runsPerSecond });
  return figures;
}
