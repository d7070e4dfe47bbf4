import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { programEnvironment } from "../support/processes/program.ts";
import { temporaryPlace } from "../support/setup/temporary-files.ts";
import { createRandom, type Figure, type Scenario } from "./harness/scenario.ts";

/**
 * `npm run test:faults`: the real server as a child process, driven over HTTP with a scripted model, and broken in every way
 * the promises of reliability speak of. Judged by the database, the workspace and a log that the tools write themselves.
 *
 * The short form plays several scenarios at once, each in a process of its own. The long form plays them one after the other,
 * since its times and sizes count.
 */
const scenarios: Record<string, () => Promise<Scenario>> = {
  // Those that take longest come first, so that none of them is alone at the end.
  servers: async () => (await import("./servers/servers.ts")).servers,
  cut_off: async () => (await import("./servers/cut-off.ts")).cutOff,
  upgrade: async () => (await import("./servers/upgrade.ts")).upgrade,
  clocks: async () => (await import("./servers/clocks.ts")).clocks,
  readers: async () => (await import("./servers/readers.ts")).readers,
  kills: async () => (await import("./crashes/kills.ts")).kills,
  database: async () => (await import("./storage/database-crashes.ts")).databaseCrashes,
  database_servers: async () => (await import("./storage/database-crashes.ts")).databaseCrashesUnderServers,
  corruption: async () => (await import("./storage/corruption.ts")).corruption,
  backup: async () => (await import("./storage/backup.ts")).backup,
  points: async () => (await import("./crashes/points.ts")).points,
  growth: async () => (await import("./load/growth.ts")).growth,
  hostile: async () => (await import("./load/hostile.ts")).hostile,
  sigterm: async () => (await import("./crashes/sigterm.ts")).sigterm,
  cuts: async () => (await import("./crashes/cuts.ts")).cuts,
  stalled: async () => (await import("./load/stalled.ts")).stalled,
  sequences: async () => (await import("./sequences/sequences.ts")).sequences,
  roaming: async () => (await import("./sequences/roaming.ts")).roaming,
  crash_loop: async () => (await import("./crashes/crash-loop.ts")).crashLoop,
  soak: async () => (await import("./load/soak.ts")).soak,
  clients: async () => (await import("./load/clients.ts")).clients,
  lock: async () => (await import("./storage/lock.ts")).lock,
  models: async () => (await import("./models/models.ts")).models,
  gate: async () => (await import("./crashes/gate.ts")).gate,
  fuzz: async () => (await import("./load/fuzz.ts")).fuzz,
  faults: async () => (await import("./storage/storage-faults.ts")).storageFaults,
  fsync: async () => (await import("./storage/fsync.ts")).fsync,
};

/** Those that the short form plays only when they are named, since they take half a minute of both cores or more. */
const onlyLong = new Set([
  "clocks",
  "cut_off",
  "database",
  "database_servers",
  "readers",
  "roaming",
  "servers",
  "upgrade",
]);

const { values } = parseArgs({
  options: {
    long: { type: "boolean", default: false },
    // Set by this program for the processes it starts: the first and the last line are printed once.
    part: { type: "boolean", default: false },
    only: { type: "string" },
    // Scenarios at once in the short form: one more than there are cores, since a scenario waits for more than half of its time.
    processes: { type: "string", default: String(availableParallelism() + 1) },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Prints one figure; true when it counts as a failure. */
function report({ what, measured, target, holds, depends = false, details = [] }: Figure): boolean {
  const fails = !holds && (values.long || !depends);
  say(`  ${holds ? "ok  " : fails ? "FAIL" : "over"} ${what}: ${measured} (target ${target})`);
  if (!holds) for (const detail of details) say(`         ${detail}`);
  return fails;
}

/** Plays one scenario in this process; the number of its figures that were missed. */
async function play(name: string): Promise<number> {
  const started = performance.now();
  let failures = 0;
  say(`${name}:`);
  try {
    const scenario = await scenarios[name]?.();
    const context = {
      long: values.long,
      seed,
      random: createRandom(seed),
      say: (text: string) => say(`       ${text}`),
    };
    for (const figure of (await scenario?.run(context)) ?? []) if (report(figure)) failures += 1;
  } catch (error) {
    failures += 1;
    say(`  FAIL ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
  say(`       ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return failures;
}

/** Plays one scenario in a process of its own and prints what it says when it is over; 1 when a figure was missed. */
async function playApart(name: string): Promise<number> {
  const program = [...process.execArgv, import.meta.filename, "--part", "--only", name, "--seed", String(seed)];
  const child = spawn(process.execPath, program, {
    env: { ...process.env, ...programEnvironment, TMPDIR: temporaryPlace() },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  let output = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (piece: string) => (output += piece));
  const code = await exit;
  process.stdout.write(output);
  return code === 0 ? 0 : 1;
}

const usual = Object.keys(scenarios).filter((name) => values.long || !onlyLong.has(name));
const named = values.only?.split(",") ?? usual;
const wanted = Object.keys(scenarios).filter((name) => named.includes(name));
const unknown = named.filter((name) => !Object.hasOwn(scenarios, name));
if (unknown.length > 0) {
  say(
    `There is no scenario ${unknown.join(", ")}. The scenarios are: ${Object.keys(scenarios).toSorted().join(", ")}.`,
  );
  process.exit(2);
}

const processes = Number(values.processes);
if (!Number.isInteger(processes) || processes < 1) {
  say(`--processes is ${values.processes}, and should be a whole number from 1 on.`);
  process.exit(2);
}

const seed = Number(values.seed);
const isApart = !values.long && wanted.length > 1;
let failures = 0;
if (!values.part) say(`Fault suite, ${values.long ? "long" : "short"} form, seed ${seed}`);
const left = wanted[Symbol.iterator]();
const playAll = async (): Promise<void> => {
  for (const name of left) {
    // Counted after the wait: `failures += await` would add to what the number was before it.
    const missed = isApart ? await playApart(name) : await play(name);
    failures += missed;
  }
};
await Promise.all(Array.from({ length: isApart ? processes : 1 }, playAll));
if (!values.part) {
  say(failures === 0 ? `All figures hold (seed ${seed}).` : `Figures were missed; repeat with --seed ${seed}.`);
}
process.exitCode = failures === 0 ? 0 : 1;
