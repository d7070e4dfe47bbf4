import { availableParallelism, loadavg } from "node:os";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { simulateCapacity, type CapacityAmounts } from "./capacity/capacity.ts";
import { measureConsole, type ConsoleAmounts } from "../console/bench/console-bench.ts";
import { measureRest } from "./servers/at-rest.ts";
import { measureContext } from "./in-process/context-cost.ts";
import { measurePackage } from "./package-size.ts";
import { printSection, printVerdict, type Section, type ToolkitMeasures } from "./figures.ts";
import { measureInProcess } from "./in-process/in-process.ts";
import { measureLongSession } from "./servers/long-session.ts";
import { measureLoopCost } from "./in-process/loop-cost.ts";
import { measureMemory, measureStart, measureTurns } from "./servers/over-http.ts";
import { measurePostgres } from "./servers/on-postgres.ts";
import { measureCosts, type CostAmounts } from "./servers/database-costs.ts";
import { measureGrowth, type GrowthAmounts } from "./servers/growth.ts";
import { measureOwners } from "./servers/owners.ts";
import { measurePolicies } from "./in-process/policy-cost.ts";
import { measureRuns, measureTokens } from "./servers/runs.ts";
import { measureSeveral, type SeveralAmounts } from "./servers/several.ts";
import { measureSearch } from "./in-process/search.ts";
import { startMillrace, startModel, startPeer, type ServerUnderTest } from "./servers/servers.ts";
import { measureTextCalls } from "./in-process/text-calls.ts";

const usage = `npm run bench -- [--smoke | --full] [--peer --peer-dir <folder>] [--only runs,tokens,turns,memory,start,rest,process,loop,context,session,calls,policies,search,stops,owners,postgres,growth,servers,costs,capacity,console,package]

--smoke  everything once and tiny, to see that it works
--full   memory from run 1,000 to 5,000, and a database of 100,000 runs (takes half an hour)
--peer   measures the development server of LangGraph.js with the same graphs, in turns. Make its folder with:
         mkdir peer && cd peer && npm init -y && npm pkg set type=module && npm install @langchain/langgraph-api@1.5.1 \\
           @langchain/langgraph-cli@1.5.1 @langchain/langgraph@1.7.3 @langchain/langgraph-checkpoint@1.2.2 \\
           @langchain/core@1.4.0 @langchain/openai@1.6.0 zod@4.6.7 typescript@5.9.3`;

/** How much of everything is measured. */
interface Amounts {
  runs: number;
  concurrency: number[];
  sizes: number[];
  turns: number;
  steps: number;
  /** Of sessions on disk. */
  long: { turns: number; steps: number };
  /** Runs of each cell that only warm up, and requests of each side of the policies. */
  warm: { runs: number; policies: number };
  /** Tries of which the best counts, of what the model sees. */
  tries: number;
  /** Milliseconds before a server is looked at that has nothing to do: after its start, and after its turns. */
  rest: [number, number];
  memory: [number, number];
  starts: number;
  session: number;
  policies: number;
  searched: number;
  stops: number;
  owners: number[];
  requests: number;
  /** Clients at once, rounds of them, runs of a round, and runs whose round trips are counted. */
  postgres: { clients: number; rounds: number; burst: number; counted: number };
  /** Of a database that runs are removed from. */
  growth: GrowthAmounts;
  /** Of several servers over one PostgreSQL. */
  servers: SeveralAmounts;
  /** Of many servers, simulated. */
  capacity: CapacityAmounts;
  console: ConsoleAmounts;
}

/** Each part once, with as little as it can be measured with. */
const smoke: Amounts = {
  runs: 2,
  concurrency: [2],
  sizes: [10],
  turns: 1,
  steps: 50,
  long: { turns: 10, steps: 5 },
  warm: { runs: 1, policies: 1 },
  tries: 1,
  rest: [100, 100],
  memory: [1, 2],
  starts: 1,
  session: 5,
  policies: 1,
  searched: 40,
  stops: 1,
  owners: [2],
  requests: 10,
  postgres: { clients: 2, rounds: 1, burst: 2, counted: 2 },
  growth: { parts: 1, runs: 40, kept: 0.1 },
  servers: { waiting: { counts: [1, 2], runs: 6, warm: 2 }, noop: { counts: [1], runs: 4, warm: 2, clients: 2 } },
  capacity: { sizes: [[2, 2]], groups: undefined, variants: [], runs: 20 },
  console: { times: 1, messages: 30, frames: 10, changes: 2, words: 30, spans: 40, nodes: 30, rest: 500 },
};
const normal: Amounts = {
  runs: 100,
  concurrency: [1, 8, 32],
  sizes: [10, 100, 1000, 5000],
  turns: 20,
  steps: 1000,
  long: { turns: 1000, steps: 200 },
  warm: { runs: 3, policies: 20 },
  tries: 3,
  // Types of graphs are read in the first seconds.
  rest: [15_000, 40_000],
  memory: [100, 500],
  starts: 5,
  session: 1000,
  policies: 300,
  searched: 20_000,
  stops: 100,
  owners: [1, 50, 150, 1000],
  requests: 4000,
  postgres: { clients: 32, rounds: 7, burst: 400, counted: 40 },
  growth: { parts: 3, runs: 1_000, kept: 5 },
  servers: {
    waiting: { counts: [1, 2, 4], runs: 80, warm: 40 },
    noop: { counts: [1, 2, 4], runs: 300, warm: 300, clients: 32 },
  },
  capacity: {
    sizes: [
      [1, 2],
      [2, 2],
      [4, 4],
      [10, 4],
      [50, 8],
      [50, 32],
      [100, 32],
      [1000, 128],
    ],
    groups: { count: 20, size: [50, 32] },
    variants: [
      [10, 4],
      [50, 32],
      [100, 64],
    ],
    runs: 250,
  },
  console: {
    times: 10,
    messages: 10_000,
    frames: 300,
    changes: 100,
    words: 2_000,
    spans: 30_000,
    nodes: 300,
    rest: 20_000,
  },
};
/** Of what grows for a long time. */
const full: Pick<Amounts, "memory" | "growth"> = {
  memory: [1000, 5000],
  growth: { parts: 10, runs: 10_000, kept: 72 },
};
/** Of what the simulation calculates with; not in the smoke run, where it would show nothing that `servers` does not. */
const costs: CostAmounts = {
  runs: 40,
  beats: { servers: [1, 10, 100, 1000], count: 1000 },
  notices: { listeners: [1, 10, 100], count: 1000 },
};

const { values: options } = parseArgs({
  options: {
    smoke: { type: "boolean", default: false },
    full: { type: "boolean", default: false },
    peer: { type: "boolean", default: false },
    "peer-dir": { type: "string" },
    only: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

if (options.help || (options.peer && options["peer-dir"] === undefined)) {
  console.log(usage);
  process.exitCode = options.help ? 0 : 2;
} else {
  const amounts: Amounts = options.smoke ? smoke : { ...normal, ...(options.full ? full : {}) };
  const load = loadavg()[0]?.toFixed(1) ?? "?";
  console.log(
    `Node ${process.versions.node}, ${availableParallelism()} cores, load ${load}; one load generator beside it.`,
  );
  if (options.smoke) console.log("A smoke run: it shows that everything works; its figures mean nothing.");
  else if (options.only === undefined) console.log("It takes many minutes; each section is printed when it is done.");
  printVerdict(await measure(amounts, options.peer ? options["peer-dir"] : undefined, options.only?.split(",")));
}

/** What toolkits add, by its name. */
async function toolkitMeasures(): Promise<[string, ToolkitMeasures[string]][]> {
  const project = join(import.meta.dirname, "..", "..");
  const files = await Array.fromAsync(glob("toolkits/*/tests/bench.ts", { cwd: project }));
  const modules = await Promise.all(
    // Such a file exports `measures`, as its type says.
    files.toSorted().map((file) => import(join(project, file)) as Promise<{ measures: ToolkitMeasures }>),
  );
  return modules.flatMap(({ measures }) => Object.entries(measures));
}

/** Measures all parts, or those that are named, and prints each when it is done. */
async function measure(
  amounts: Amounts,
  peerFolder: string | undefined,
  only: string[] | undefined,
): Promise<Section[]> {
  const wanted = (part: string): boolean => only === undefined || only.includes(part);
  const sections: Section[] = [];
  const done = (section: Section): void => {
    printSection(section);
    sections.push(section);
  };
  const add = async (part: string, work: () => Promise<Section>): Promise<void> => {
    if (wanted(part)) done(await work());
  };
  if (wanted("capacity")) for (const section of simulateCapacity(amounts.capacity)) done(section);
  if (wanted("calls")) done(measureTextCalls(amounts.starts * 4));
  if (wanted("process")) for (const section of await measureInProcess(amounts)) done(section);
  await add("session", () => measureLongSession(amounts.session));
  await add("loop", () => measureLoopCost(5 * amounts.turns));
  await add("context", () => measureContext(amounts.tries));
  await add("console", () => measureConsole(amounts.console));
  if (!options.smoke) await add("package", () => measurePackage());
  await add("search", () => measureSearch(amounts.searched, amounts.starts));
  for (const [part, measure] of await toolkitMeasures()) await add(part, () => measure(amounts.stops));
  const model = await startModel();
  try {
    await add("policies", () => measurePolicies(model.url, amounts.policies, amounts.warm.policies));
    await add("owners", () => measureOwners(model.url, amounts.owners, amounts.requests));
    await add("postgres", () => measurePostgres(model.url, { ...amounts, ...amounts.postgres }));
    await add("growth", () => measureGrowth(model.url, amounts.growth));
    await add("servers", () => measureSeveral(model.url, amounts.servers));
    if (!options.smoke) await add("costs", () => measureCosts(model.url, costs));
    await add("start", () => measureStart(model.url, peerFolder, amounts.starts));
    await add("rest", () =>
      measureRest(model.url, { starts: Math.min(3, amounts.starts), turns: amounts.turns, waits: amounts.rest }),
    );
    const servers: ServerUnderTest[] = [];
    try {
      servers.push(await startMillrace(model.url));
      if (peerFolder !== undefined) servers.push(await startPeer(peerFolder, model.url));
      await add("runs", () => measureRuns(servers, { ...amounts, warm: amounts.warm.runs }));
      await add("tokens", () => measureTokens(servers, model.url, amounts));
      await add("turns", () => measureTurns(servers, amounts.sizes, amounts.turns));
      await add("memory", () => measureMemory(servers, ...amounts.memory));
    } finally {
      for (const server of servers) await server.stop();
    }
  } finally {
    await model.stop();
  }
  return sections;
}
