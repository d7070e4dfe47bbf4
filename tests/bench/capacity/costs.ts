import type { Load, Site, Step } from "./site.ts";

/** Servers on one machine of two cores, with PostgreSQL and the clients: runs a second; and of a run, CPU (ms) and transactions. */
interface Measured {
  servers: number;
  rate: number;
  server: number;
  database: number;
  statements: number;
}

/**
 * What was measured, by `npm run bench -- --only servers,costs`; the figures stand in docs/operate/capacity.md. All else is
 * calculated from it. Milliseconds of CPU, unless something else is said.
 */
export const measured = {
  /** Runs that do nothing, 32 clients. */
  noop: [
    { servers: 1, rate: 128, server: 9.2, database: 3.4, statements: 4 },
    { servers: 2, rate: 113, server: 10, database: 4.2, statements: 8 },
    { servers: 4, rate: 112, server: 10.1, database: 4.5, statements: 8 },
  ] satisfies Measured[],
  /** Runs of one model call that takes 500 ms, four slots a server, six clients for each. */
  waiting: [
    { servers: 1, rate: 7.5, server: 12.7, database: 5.1, statements: 8 },
    { servers: 2, rate: 14.8, server: 12.7, database: 5.1, statements: 8 },
    { servers: 4, rate: 28, server: 12.7, database: 5.1, statements: 8 },
  ] satisfies Measured[],
  /** Of both: commits that wait for the disk, and bytes of log. */
  small: { disk: 2, bytes: 9_000 },
  /** What a client spends on such a run. */
  client: 1.1,
  /** An agent's run with five tool calls, two of which write, beside another server. */
  agent: { server: 147, database: 31, statements: 64, disk: 12, bytes: 76_000 },
  /** Each write of words that are streamed; one in so many milliseconds. */
  words: { server: 1.1, database: 0.7, bytes: 1_900, every: 73 },
  /** A beat of a server that is alone, and beside a thousand with 120 runs each. */
  beat: { alone: 0.2, ofThousand: 0.5 },
  /** A notice, for each server that receives it; and how long one holds up the next. */
  notice: { least: 0.12, each: 0.03, held: 0.33, received: 0.012 },
  /** Until the disk has the log. */
  flushMs: 1.7,
} as const;

/** What was not measured. */
export const assumed = {
  /** Milliseconds that all answers of the model take in a run, and of these in which it streams words. */
  modelMs: 10_000,
  spokenMs: 5_000,
  /** Model calls of an agent's run. */
  modelCalls: 6,
  /** Calls that write in the workspace. */
  writing: 2,
  /** Where readers at other servers wait for words: milliseconds between two writes, which are then as many as the words. */
  followedMs: 50,
  /** What a beat costs its server, and what a look into a log costs a reader at another one. */
  beat: 0.5,
  look: { server: 1, database: 0.3 },
  /** Bytes of log that the disk takes in a millisecond: 500 MB/s. */
  bytesPerMs: 500_000,
  /** Milliseconds to a database on another machine and back. */
  roundTrip: 0.3,
  slots: 256,
  connections: 8,
} as const;

/** What a run costs in all. */
interface Whole {
  server: number;
  database: number;
  statements: number;
  disk: number;
  bytes: number;
}

/** A run whose work is spread evenly over its statements, in as many parts as it calls its model; `pause` is one such call. */
function spread(whole: Whole, { calls, writing, pause }: { calls: number; writing: number; pause: Step[] }): Step[] {
  const steps: Step[] = [];
  const { statements, disk } = whole;
  const share = (all: number): number => all / statements;
  /** How many of the first so many wait for the disk. */
  const waits = (count: number): number => Math.floor((count * disk) / statements);
  let pauses = 0;
  for (let index = 0; index < statements; index += 1) {
    const number = waits(index + 1);
    const isWaiting = number > waits(index);
    // The first one is the run's admission.
    const path = isWaiting && number > 1 && number <= 1 + writing;
    steps.push({ kind: "work", ms: share(whole.server) });
    steps.push({ kind: "statement", ms: share(whole.database), bytes: share(whole.bytes), disk: isWaiting, path });
    if (pauses < calls && index >= ((pauses + 1) * statements) / (calls + 1)) {
      pauses += 1;
      steps.push(...pause);
    }
  }
  return steps;
}

/** A run that does nothing, and one that asks its model once, as they were measured. */
export const smallRun = ({ server, database, statements }: Measured, modelMs = 0): Step[] =>
  spread(
    { server, database, statements, ...measured.small },
    { calls: modelMs > 0 ? 1 : 0, writing: 0, pause: [{ kind: "wait", ms: modelMs }] },
  );

/** An agent's run. Streamed, its server writes while the model speaks, more often where the run is read elsewhere. */
export function agentRun({ isStreamed = false, isFollowed = false } = {}): Step[] {
  const { modelCalls: calls, modelMs, spokenMs, followedMs, writing } = assumed;
  const { server, database, bytes, every } = measured.words;
  const spoken = isStreamed ? spokenMs / calls : 0;
  const ms = isFollowed ? followedMs : every;
  const words = Array.from({ length: Math.round(spoken / ms) }, (): Step[] => [
    { kind: "wait", ms },
    { kind: "work", ms: server },
    { kind: "statement", ms: database, bytes },
  ]);
  const pause: Step[] = [{ kind: "wait", ms: modelMs / calls - spoken }, ...words.flat()];
  return spread(measured.agent, { calls, writing, pause });
}

/** So many servers, each on a core of its own, and a PostgreSQL on so many. */
export function siteOf(servers: number, cores: number, changed: Partial<Site> = {}): Site {
  const { beat, notice, flushMs } = measured;
  return {
    servers,
    cores,
    slots: assumed.slots,
    connections: assumed.connections,
    disk: { flushMs, bytesPerMs: assumed.bytesPerMs },
    roundTrip: assumed.roundTrip,
    beat: { database: beat.alone + ((beat.ofThousand - beat.alone) * servers) / 1_000, server: assumed.beat },
    notice: { database: notice.least + notice.each * servers, held: notice.held, server: notice.received },
    look: assumed.look,
    helpers: 0,
    ...changed,
  };
}

/**
 * All of it on the machine of two cores on which it was measured. A server's other threads do a part of its work: with 128 runs
 * a second of 9.2 ms, one server used 1.18 cores.
 */
export function measuredSite(servers: number, slots: number): Site {
  return siteOf(servers, 2, { isShared: true, slots, roundTrip: 0, helpers: 0.15 });
}

/** So many runs of clients, each with one after the other. */
export const burst = (script: readonly Step[], { total, clients }: { total: number; clients: number }): Load => ({
  script,
  arrivals: { total, clients, ms: measured.client },
  followed: 0,
});
