import { startPostgres } from "../../support/processes/postgres.ts";
import type { Figure, Section } from "../figures.ts";
import { burst, createThreads, waitRun, type RunBody } from "./load.ts";
import { cpuOfFamily, startMillrace, type ServerUnderTest } from "./servers.ts";

/** How much is measured: numbers of servers, and runs of each of them, after `warm` runs of each that do not count. */
export interface SeveralAmounts {
  waiting: { counts: number[]; runs: number; warm: number };
  noop: { counts: number[]; runs: number; warm: number; clients: number };
}

/** Slots of a server whose runs wait, how many clients fill them, and how long the model takes, in milliseconds. */
const [slots, clientsEach, modelTakes] = [4, 6, 500];
const waiting: RunBody = {
  assistant: "chat",
  input: { messages: [{ role: "user", content: `words:5 wait:${modelTakes}` }] },
};
const noop: RunBody = { assistant: "noop", input: { value: "x" } };

/** What a number of servers must do, as many times as that before. */
const goals: Record<string, Record<number, number>> = { waiting: { 2: 1.9 }, noop: { 2: 0.85, 4: 0.8 } };
/** Of four servers whose runs wait, as many times as one. */
const goalOfFour = 3.6;

/** More and more servers over one PostgreSQL, all on this machine: runs that wait for their model, and runs that do nothing. */
export async function measureSeveral(modelUrl: string, amounts: SeveralAmounts): Promise<Section> {
  const title = "Several servers over one PostgreSQL";
  const postgres = await startPostgres({ isLasting: true });
  const pid = postgres?.own?.pid();
  if (postgres === undefined || pid === undefined) return { title: `${title}: not installed`, figures: [] };
  const database = async (): Promise<string> => await postgres.create();
  try {
    const waits = await rates(await database(), { modelUrl, pid, slots, ...amounts.waiting }, (count) => ({
      body: waiting,
      clients: clientsEach * count,
    }));
    const rests = await rates(await database(), { modelUrl, pid, slots: 0, ...amounts.noop }, () => ({
      body: noop,
      clients: amounts.noop.clients,
    }));
    const [one, four] = [1, 4].map((count) => waits.find((rate) => rate.servers === count));
    return {
      title,
      figures: [
        ...figuresOf(`runs that wait ${modelTakes} ms for their model, ${slots} slots a server`, "waiting", waits),
        ...(one === undefined || four === undefined
          ? []
          : [{ measure: "four as many times as one", value: four.rate / one.rate, unit: "x", min: goalOfFour }]),
        ...figuresOf(`no-op runs, ${amounts.noop.clients} clients`, "noop", rests),
      ],
    };
  } finally {
    await postgres.stop();
  }
}

interface Rate {
  servers: number;
  /** Runs a second. */
  rate: number;
  /** CPU of all servers and of PostgreSQL, ms a run. */
  cpu: { servers: number; database: number };
}

interface Servers {
  modelUrl: string;
  /** PostgreSQL's first process. */
  pid: number;
  /** Runs at once of a server; 0: as many as usual. */
  slots: number;
  counts: number[];
  runs: number;
  warm: number;
}

/** Starts one server after the other and measures each number of them that is wanted. */
async function rates(
  database: string,
  { modelUrl, pid, slots: wanted, counts, runs, warm }: Servers,
  load: (count: number) => { body: RunBody; clients: number },
): Promise<Rate[]> {
  const servers: ServerUnderTest[] = [];
  const found: Rate[] = [];
  try {
    for (const count of counts) {
      while (servers.length < count) servers.push(await startMillrace(modelUrl, { database, slots: wanted }));
      const { body, clients } = load(count);
      const urls = servers.map(({ url }) => url);
      const url = (index: number): string => urls[index % urls.length] ?? "";
      const threads = await createThreads(url(0), (runs + warm) * count);
      const work = (index: number): Promise<unknown> => waitRun(url(index), threads[index] ?? "", body);
      // A server is as fast as it will be after some hundred runs: before, its code is being compiled.
      await burst({ total: warm * count, concurrency: clients, cpu: () => 0 }, (index) => work(runs * count + index));
      const ofDatabase = cpuOfFamily(pid);
      const cpu = (): number => servers.reduce((sum, server) => sum + server.cpuMs(), 0);
      const { runsPerSecond, cpuMs } = await burst({ total: runs * count, concurrency: clients, cpu }, work);
      const databaseMs = (cpuOfFamily(pid) - ofDatabase) / (runs * count);
      found.push({ servers: count, rate: runsPerSecond, cpu: { servers: cpuMs, database: databaseMs } });
    }
    return found;
  } finally {
    for (const server of servers) await server.stop();
  }
}

function figuresOf(what: string, kind: string, found: readonly Rate[]): Figure[] {
  return found.flatMap(({ servers, rate, cpu }, index) => {
    const before = found[index - 1];
    const note = `CPU a run: servers ${cpu.servers.toFixed(1)} ms, PostgreSQL ${cpu.database.toFixed(1)} ms`;
    const measure = `${what}: ${servers} ${servers === 1 ? "server" : "servers"}`;
    const figure: Figure = { measure, value: rate, unit: "runs/s", note };
    if (before === undefined) return [figure];
    const goal = goals[kind]?.[servers];
    const times = { measure: "as many times as before", value: rate / before.rate, unit: "x" };
    return [figure, goal === undefined ? times : { ...times, min: goal }];
  });
}
