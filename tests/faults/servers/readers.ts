import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { readSse } from "@millrace/testing/sse-client";
import type { ServerProcess } from "../../support/processes/server-process.ts";
import { startPostgres } from "../../support/processes/postgres.ts";
import { cutReaders, longAnswer } from "../crashes/cuts.ts";
import { atMost, noneOf, quantile, type Figure, type Scenario } from "../harness/scenario.ts";
import { call, newThread, startRun } from "../harness/world.ts";
import { Cluster } from "./cluster.ts";

const lease = 5;
/** Milliseconds from where an event is emitted at one server until it is read at another, and until a stop from there is over. */
const longest = { read: { p50: 25, p99: 60 }, stop: 500 };
const TimedEvent = z.looseObject({ at: z.number() });

/** Readers of three servers over one PostgreSQL: cut off, sent to another one each time, and at another one than their run. */
export const readers: Scenario = {
  name: "readers",
  async run({ long, random, say }) {
    const postgres = await startPostgres();
    if (postgres === undefined) {
      return [{ what: "readers elsewhere", measured: "skipped: there is no PostgreSQL", target: "0", holds: true }];
    }
    try {
      const cluster = await Cluster.open(await postgres.create(), { servers: 3, lease, random, handler: longAnswer });
      try {
        const { servers } = cluster.world;
        const [own, other] = servers;
        if (own === undefined || other === undefined) throw new Error("There are three servers.");
        const figures = [
          ...(await readElsewhere(own, other, long ? 20 : 3)),
          ...(await stopElsewhere(cluster, { own, other }, long ? 200 : 8)),
        ];
        let next = 0;
        const place = {
          pick: () => cluster.pick(),
          // Also to one that is away: what connects there is refused and tries again.
          port: () => servers[(next += 1) % servers.length]?.port ?? 0,
          kill: () => cluster.kill(false),
        };
        const cuts = Number(process.env["CUTS"] ?? (long ? 10_000 : 50));
        const wanted = { cuts, kills: Math.max(1, Math.round(cuts / 100)) };
        return [...figures, ...(await cutReaders(place, wanted, { random, say }))];
      } finally {
        await cluster.close();
      }
    } finally {
      await postgres.stop();
    }
  },
};

/** How long it takes from where an event is emitted until it is read at another server. */
async function readElsewhere(own: ServerProcess, other: ServerProcess, runs: number): Promise<Figure[]> {
  const delays: number[] = [];
  const problems: string[] = [];
  const events = 150;
  for (let run = 0; run < runs; run += 1) {
    const threadId = await newThread(own);
    const { run_id: runId } = await startRun(own, threadId, {
      assistant_id: "talker",
      input: { events, size: 100, pause: 20 },
      stream_mode: ["custom"],
      stream_resumable: true,
    });
    let openedAt = Number.POSITIVE_INFINITY;
    let seen = 0;
    const end = await readSse({
      url: `${other.url}/threads/${threadId}/runs/${runId}/stream`,
      onOpen: () => (openedAt = Date.now()),
      onEvent: ({ event, data }) => {
        if (event !== "custom") return;
        seen += 1;
        const { at } = TimedEvent.parse(JSON.parse(data));
        // What was emitted before this reader came is not late.
        if (at > openedAt) delays.push(Date.now() - at);
      },
    });
    if (end.kind !== "complete" || seen !== events) problems.push(`${end.kind} with ${seen} of ${events} events`);
  }
  return [
    noneOf("readers at another server whose stream was not whole", problems, runs),
    atMost(`p50 from emitted to read elsewhere, of ${delays.length}`, quantile(delays, 0.5), longest.read.p50, "ms"),
    atMost("the same, p99", quantile(delays, 0.99), longest.read.p99, "ms"),
  ];
}

/** Runs that are stopped by way of another server than theirs. */
async function stopElsewhere(
  { steps }: Cluster,
  { own, other }: { own: ServerProcess; other: ServerProcess },
  stops: number,
): Promise<Figure[]> {
  const times: number[] = [];
  const problems: string[] = [];
  for (let stop = 0; stop < stops; stop += 1) {
    const item = `stopped${stop}`;
    const threadId = await newThread(own);
    const { run_id: runId } = await startRun(own, threadId, {
      assistant_id: "walker",
      input: { item, steps: 1_000, pause: 20 },
      config: { recursion_limit: 2_000 },
    });
    const path = `${other.url}/threads/${threadId}/runs/${runId}/stream`;
    const { promise: opened, resolve } = Promise.withResolvers<void>();
    const reading = readSse({ url: path, onEvent: () => undefined, onOpen: () => resolve() });
    await opened;
    while (steps.of(item).length < 3) await delay(20);
    const { status } = await call(other, "POST", `/threads/${threadId}/runs/${runId}/cancel`);
    const answered = performance.now();
    const end = await reading;
    times.push(performance.now() - answered);
    if (status !== 202 || end.kind !== "complete") problems.push(`${status}, its stream ended as ${end.kind}`);
    const begun = steps.of(item).length;
    await delay(100);
    const more = steps.of(item).length - begun;
    if (more > 0) problems.push(`${more} steps of ${item} began after its end`);
  }
  return [
    noneOf("stops from another server that were refused, or after which a step began", problems, stops),
    atMost(
      "p50 from the answer to a stop elsewhere to the end of the stream",
      quantile(times, 0.5),
      longest.stop,
      "ms",
    ),
    atMost("the same, p99", quantile(times, 0.99), longest.stop, "ms"),
  ];
}
