import type { Section } from "../figures.ts";
import { show } from "../figures.ts";
import { agentRun, assumed, burst, measured, measuredSite, siteOf, smallRun } from "./costs.ts";
import { simulate } from "./simulation.ts";
import type { Times } from "./queues.ts";
import { bottleneck, type Load, type Outcome, resources, type Site, type Step } from "./site.ts";

/** Servers, and cores of the PostgreSQL that they share. */
type Size = readonly [servers: number, cores: number];

/** How much is simulated. */
export interface CapacityAmounts {
  sizes: readonly Size[];
  /** Groups with a database each: how many, and of which size. */
  groups: { count: number; size: Size } | undefined;
  /** Sizes of which it is also simulated what may come first elsewhere. */
  variants: readonly Size[];
  /** Runs of which each simulation measures about so many. */
  runs: number;
}

/** A rate counts as carried where 99 of 100 steps wait for so many milliseconds at most, and nothing is used more than this. */
const [bound, most] = [100, 0.95];
/** How often the highest rate is looked for, and seeds of the random numbers. */
const [tries, seed] = [5, 22];
/** The longest and the shortest time that is simulated, in milliseconds. */
const [longest, shortest] = [60_000, 1_000];

/** What many servers over one PostgreSQL would carry, simulated from what was measured; nothing is started. */
export function simulateCapacity(amounts: CapacityAmounts): Section[] {
  return [
    measuredAgain(),
    sizes(amounts, "waited for", false),
    sizes(amounts, "streamed", true),
    ...(amounts.variants.length > 0 ? [variants(amounts)] : []),
  ];
}

/** One, two and four servers on the machine where they were measured, with as many runs, beside what was measured. */
function measuredAgain(): Section {
  const rows = [["runs that", "servers", "measured, runs/s", "simulated", "of the measured rate", "cores busy"]];
  const add = (what: string, { servers, rate }: { servers: number; rate: number }, slots: number, load: Load): void => {
    const site = measuredSite(servers, slots);
    const { ended, lastEnd, used } = simulate(site, load, { seed, warm: 0, measured: longest });
    const simulated = ended * (longest / lastEnd);
    // Nothing is used any more once all have ended.
    const busy = used.cores * site.cores * (longest / lastEnd);
    rows.push([what, String(servers), show(rate), show(simulated), percent(simulated / rate), show(busy)]);
  };
  for (const found of measured.waiting) {
    const { servers } = found;
    add("wait 500 ms, 4 slots", found, 4, burst(smallRun(found, 500), { total: 80 * servers, clients: 6 * servers }));
  }
  for (const found of measured.noop)
    add("do nothing", found, assumed.slots, burst(smallRun(found), { total: 300 * found.servers, clients: 32 }));
  return { title: "Capacity: what was measured, simulated", figures: [], rows };
}

const head = [
  "servers",
  "cores of PostgreSQL",
  "runs/s calculated, at most",
  "simulated",
  "at work",
  "step waits for its server, p50, p99",
  "for the database",
  "readers elsewhere are notified after",
  "servers busy",
  "PostgreSQL's cores busy",
  "transactions/s",
  "log, MB/s",
  "most in use",
];

function sizes({ sizes: all, groups, runs }: CapacityAmounts, title: string, isStreamed: boolean): Section {
  const load = { script: agentRun({ isStreamed }), followed: 0 };
  const rows = all.map(([servers, cores]) => row(siteOf(servers, cores), load, runs));
  if (groups !== undefined) rows.push(row(siteOf(...groups.size), load, runs, groups.count));
  return { title: `Capacity: agents' runs that are ${title}, at the highest rate`, figures: [], rows: [head, ...rows] };
}

/** The same where servers have one workspace, and where runs are read at other servers. */
function variants({ variants: all, runs }: CapacityAmounts): Section {
  const rows = all.flatMap(([servers, cores]) => {
    const site = siteOf(servers, cores);
    const one = { ...site, hasOneWorkspace: true };
    const script = agentRun({ isStreamed: true });
    return [
      ["waited for, one workspace for all", ...row(one, { script: agentRun(), followed: 0 }, runs)],
      ["streamed, one in ten read at another server", ...row(site, { script, followed: 0.1 }, runs)],
      [
        "streamed, each read at another server",
        ...row(site, { script: agentRun({ isStreamed: true, isFollowed: true }), followed: 1 }, runs),
      ],
    ];
  });
  return { title: "Capacity: what else may come first", figures: [], rows: [["runs", ...head], ...rows] };
}

/** By calculation: the rate at which the servers' cores, or those of PostgreSQL, have no time left. */
function calculated({ servers, cores }: Site, { script }: Omit<Load, "arrivals">): number {
  const sum = (kind: Step["kind"]): number =>
    script.reduce((ms, step) => ms + (step.kind === kind ? step.ms : 0), 0) / 1_000;
  return Math.min(servers / sum("work"), cores / sum("statement"));
}

/** By simulation: the highest rate that is carried, and what it looks like. */
function highest(site: Site, load: Omit<Load, "arrivals">, runs: number): [rate: number, outcome: Outcome] {
  let [low, high] = [0, calculated(site, load)];
  const at = (rate: number): Outcome => {
    const span = Math.min(longest, Math.max(shortest, (runs / rate) * 1_000));
    return simulate(site, { ...load, arrivals: { rate } }, { seed, warm: span / 2, measured: span });
  };
  let found: [number, Outcome] | undefined;
  for (let index = 0; index < tries; index += 1) {
    const rate = (low + high) / 2;
    const outcome = at(rate);
    const isCarried =
      outcome.used[bottleneck(outcome)] < most &&
      outcome.server.percentile(99) < bound &&
      outcome.database.percentile(99) < bound &&
      !(outcome.notified.percentile(99) > bound);
    if (isCarried) [low, found] = [rate, [rate, outcome]];
    else high = rate;
  }
  return found ?? [low, at(high)];
}

/** A site at its highest rate; of `groups` such sites, what they do together. */
function row(site: Site, load: Omit<Load, "arrivals">, runs: number, groups = 1): string[] {
  const [rate, { left, server, database, notified, used, statements, megabytes }] = highest(site, load, runs);
  const name = bottleneck({ used });
  const percentiles = (times: Times): string => `${show(times.percentile(50))}, ${show(times.percentile(99))} ms`;
  const each = (of: number): string => (groups === 1 ? String(of) : `${groups} x ${of}`);
  return [
    each(site.servers),
    each(site.cores),
    show(groups * calculated(site, load)),
    show(groups * rate),
    String(groups * left),
    percentiles(server),
    percentiles(database),
    notified.count === 0 ? "" : percentiles(notified),
    percent(used.server),
    show(groups * used.cores * site.cores),
    show(groups * statements),
    show(groups * megabytes),
    `${resources[name]}, ${percent(used[name])}`,
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}
