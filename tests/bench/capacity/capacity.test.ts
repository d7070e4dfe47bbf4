import { describe, expect, it } from "vitest";
import { simulate } from "./simulation.ts";
import { Clock, LogDisk, Station, Times } from "./queues.ts";
import { bottleneck, type Load, type Resource, type Site, type Step } from "./site.ts";

/** What jobs take from their arrival to their end on average, and the share of places in use. */
function queueOf(places: number, { rate, service }: { rate: number; service: number }) {
  const clock = new Clock(7);
  const station = new Station(clock, places);
  let [jobs, sum] = [0, 0];
  const come = (): void => {
    const came = clock.now;
    station.use(clock.chance(service), () => {
      jobs += 1;
      sum += clock.now - came;
    });
    clock.after(clock.chance(1 / rate), come);
  };
  come();
  clock.runUntil(150_000);
  return { mean: sum / jobs, used: station.used(0) };
}

describe("a queue", () => {
  // The mean time in the system is what queueing theory gives for M/M/1, s / (1 - u), and for M/M/2, s / (1 - u²).
  it.each([
    ["one place, half used", 1, 0.5, 2],
    ["one place, 80 % used", 1, 0.8, 5],
    ["two places, 80 % used", 2, 1.6, 1 / (1 - 0.64)],
  ])("of %s takes as long as it has to", (_, places, rate, expected) => {
    const { mean, used } = queueOf(places, { rate, service: 1 });
    expect(mean / expected).toBeCloseTo(1, 1);
    expect(used).toBeCloseTo(rate / places, 2);
  });

  it("lets things happen in their order, those of one time too", () => {
    const clock = new Clock(1);
    const times: number[] = [];
    for (let index = 0; index < 1_000; index += 1) clock.after(clock.random(), () => times.push(clock.now));
    clock.runUntil(0.5);
    const early = times.length;
    clock.runUntil(1);
    expect(times).toEqual(times.toSorted((left, right) => left - right));
    expect([early > 400 && early < 600, times.length]).toEqual([true, 1_000]);
  });
});

it("commits that come together share a wait for the disk, and many bytes take longer", () => {
  const clock = new Clock(1);
  const disk = new LogDisk(clock, { flushMs: 2, bytesPerMs: 100 });
  const ends: number[] = [];
  for (const bytes of [10, 500, 500]) {
    disk.add(bytes);
    disk.flush(() => ends.push(clock.now));
  }
  clock.runUntil(100);
  expect([ends, disk.flushes, disk.written]).toEqual([[2, 12, 12], 2, 1_010]);
});

it("percentiles of times are right to 3 %", () => {
  const times = new Times();
  for (let index = 1; index <= 1_000; index += 1) times.add(index);
  for (const rank of [50, 90, 99]) expect(times.percentile(rank) / (rank * 10)).toBeCloseTo(1, 1);
});

const script: readonly Step[] = [
  { kind: "work", ms: 2 },
  { kind: "statement", ms: 1, bytes: 1_000, disk: true },
  { kind: "wait", ms: 100 },
  { kind: "work", ms: 2 },
  { kind: "statement", ms: 1, bytes: 1_000, disk: true, path: true },
];
const site: Site = {
  servers: 4,
  cores: 4,
  slots: 100,
  connections: 8,
  disk: { flushMs: 1, bytesPerMs: 100_000 },
  roundTrip: 0,
  beat: { database: 0.2, server: 0.5 },
  notice: { database: 0.1, held: 0.2, server: 0.02 },
  look: { database: 0.3, server: 1 },
  helpers: 0,
};
const byChance = (rate: number): Load => ({ script, arrivals: { rate }, followed: 0 });
const times = { seed: 3, warm: 1_000, measured: 4_000 };

describe("a simulation", () => {
  it("loses no run: each that came has ended or is on its way", () => {
    const load: Load = { script, arrivals: { total: 400, clients: 30, ms: 1 }, followed: 0.5 };
    const { came, ended, left } = simulate(site, load, { seed: 3, warm: 0, measured: 1_000 });
    expect(came).toBe(ended + left);
    expect([left > 0, ended > 100]).toEqual([true, true]);
  });

  it("ends as many runs as come while there is room, and uses what they cost", () => {
    const { ended, used } = simulate(site, byChance(400), times);
    expect(ended / 400).toBeCloseTo(1, 1);
    // 100 runs a second and server, of 4 ms; in PostgreSQL 400 of 2 ms on 4 cores.
    expect([used.server, used.cores]).toEqual([expect.closeTo(0.4, 1), expect.closeTo(0.2, 1)]);
  });

  it("is the same for the same seed", () => {
    const outcome = (): unknown => simulate(site, byChance(400), times).used;
    expect(outcome()).toEqual(outcome());
  });

  it.each<[Resource, Partial<Site>, number]>([
    ["server", {}, 900],
    ["cores", { cores: 1 }, 450],
    ["slots", { slots: 8 }, 250],
    ["connections", { connections: 1, disk: { flushMs: 6, bytesPerMs: 100_000 } }, 200],
    ["disk", { disk: { flushMs: 1, bytesPerMs: 1_000 } }, 470],
    ["workspace", { hasOneWorkspace: true, disk: { flushMs: 2, bytesPerMs: 100_000 } }, 260],
  ])("names what is used up first: %s", (name, changed, rate) => {
    const outcome = simulate({ ...site, ...changed }, byChance(rate), times);
    expect(bottleneck(outcome)).toBe(name);
    expect(outcome.used[name]).toBeGreaterThan(0.8);
  });

  it("notifies readers elsewhere later where notices are committed slowly, and ends as many runs", () => {
    const outcome = (held: number) =>
      simulate({ ...site, notice: { ...site.notice, held } }, { ...byChance(200), followed: 1 }, times);
    const [fast, slow] = [outcome(0.1), outcome(5)];
    expect(fast.notified.percentile(50)).toBeLessThan(12);
    expect(slow.notified.percentile(50)).toBeGreaterThan(18);
    expect(slow.ended / fast.ended).toBeCloseTo(1, 1);
    expect(simulate(site, byChance(200), times).notified.count).toBe(0);
  });
});
