import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { FaultProxy, type LinkFault } from "@millrace/testing/fault-proxy";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { readSse, type SseEvent } from "@millrace/testing/sse-client";
import type { ServerProcess } from "../../support/processes/server-process.ts";
import { noneOf, type Figure, type Random, type Scenario } from "../harness/scenario.ts";
import { getRun, newThread, openWorld, readMessages, startRun, textOf } from "../harness/world.ts";

const runsEach = 4;
const readersEach = 3;
const words = "Über der Mühle 水車 dreht sich das Rad, Tag und Nacht, leise rauschend weiter und weiter. ".repeat(20);

/** Stream cuts of every kind, some of them kills of the server: no reader misses or doubles an event (reliability E1, E2). */
export const cuts: Scenario = {
  name: "cuts",
  async run({ long, random, say }) {
    const world = await openWorld(longAnswer);
    const { server } = world;
    const place: Place = {
      pick: () => server,
      port: () => server.port,
      async kill() {
        await server.kill();
        await server.start();
      },
    };
    try {
      return await cutReaders(place, long ? { cuts: 2000, kills: 50 } : { cuts: 100, kills: 3 }, { random, say });
    } finally {
      await world.close();
    }
  },
};

/** The server, or the servers, that readers are cut off from. */
export interface Place {
  /** One that works. */
  pick(): ServerProcess;
  /** Where the next connection goes. */
  port(): number;
  /** Kills one and starts it again. */
  kill(): Promise<void>;
}

/** Rounds of runs whose readers are cut off, until there were as many cuts and kills as are wanted. */
export async function cutReaders(
  place: Place,
  wanted: { cuts: number; kills: number },
  { random, say }: { random: Random; say: (text: string) => void },
): Promise<Figure[]> {
  const problems: string[] = [];
  const listening = new AbortController();
  let made = 0;
  let killed = 0;
  let readers = 0;
  try {
    for (let round = 0; made < wanted.cuts || killed < wanted.kills; round += 1) {
      // Kills are spread over the rounds, so that there are rounds without one too.
      const withKill = killed < wanted.kills && killed / wanted.kills <= made / wanted.cuts;
      made += await cutRound(place, { round, withKill, random, problems, signal: listening.signal });
      killed += withKill ? 1 : 0;
      readers += runsEach * readersEach;
      if (round % 10 === 9) say(`${made} cuts, ${killed} kills`);
    }
    return [
      noneOf(`readers with an event lost, doubled, changed or out of order in ${made} cuts`, problems, readers),
      { what: "server kills among them", measured: `${killed}`, target: `${wanted.kills}`, holds: killed > 0 },
    ];
  } finally {
    // After a failure in the middle some still try to read.
    listening.abort();
  }
}

/** A text that takes a while. */
export function longAnswer(request: ModelRequest): ModelStep {
  return { text: `${words}The end of request ${request.index}.`, delayMs: 2 };
}

interface Round {
  round: number;
  withKill: boolean;
  random: Random;
  problems: string[];
  /** Ends the readers. */
  signal: AbortSignal;
}

/** A few runs with a few readers each, all behind a proxy; gives the number of connections that were broken. */
async function cutRound(place: Place, { round, withKill, random, problems, signal }: Round): Promise<number> {
  const proxy = await new FaultProxy(
    () => place.port(),
    () => randomFault(random),
  ).listen();
  try {
    const runs = await Promise.all(
      Array.from({ length: runsEach }, async (_, index) => {
        const threadId = await newThread(place.pick());
        const { run_id: runId } = await startRun(place.pick(), threadId, {
          assistant_id: "one",
          input: { messages: [{ role: "user", content: `round ${round} run ${index}` }] },
          stream_mode: ["messages-tuple", "values", "custom"],
          stream_resumable: true,
        });
        return { threadId, runId };
      }),
    );
    const reading = runs.flatMap((run) =>
      Array.from({ length: readersEach }, () => new Reader(`${proxy.url}/threads/${run.threadId}/runs/${run.runId}`)),
    );
    const all = Promise.all(reading.map((reader) => reader.readToEnd(signal)));
    if (withKill) {
      await delay(100 + random.below(900));
      await place.kill();
    }
    await all;
    for (const [index, { threadId, runId }] of runs.entries()) {
      const own = reading.slice(index * readersEach, (index + 1) * readersEach);
      problems.push(
        ...(await judgeRun(place.pick(), { threadId, runId, withKill, signal }, own)).map(
          (text) => `round ${round}: ${text}`,
        ),
      );
    }
    return proxy.broken;
  } finally {
    await proxy.close();
  }
}

function randomFault(random: Random): LinkFault {
  const after = 200 + random.below(60_000);
  switch (random.below(8)) {
    case 0:
      return { kind: "none" };
    case 1:
      return { kind: "delay", milliseconds: 1 + random.below(20) };
    case 2:
      return { kind: "drip", bytes: 7 + random.below(200) };
    case 3:
    case 4:
      return { kind: "reset", after };
    case 5:
      return { kind: "half-open", after };
    default:
      return { kind: "cut", after };
  }
}

/** A reader that comes back with `Last-Event-ID` until the server says that the run is over. */
class Reader {
  readonly events: SseEvent[] = [];
  readonly refusals: string[] = [];
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async readToEnd(signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + 60_000;
    while (performance.now() < deadline) {
      if (signal.aborted) return;
      const last = this.events.findLast((event) => event.id !== undefined)?.id;
      const end = await readSse({
        url: `${this.#url}/stream`,
        onEvent: (event) => this.events.push(event),
        silence: 1500,
        signal,
        ...(last === undefined ? {} : { lastEventId: last }),
      });
      // The link may end in good order and the run go on.
      if (end.kind === "complete" && (await this.#isOver(signal))) return;
      if (end.kind === "refused") this.refusals.push(String(end.status));
      await delay(20);
    }
    this.refusals.push("not at the end after 60 s");
  }

  /** Asked through the same link; what does not answer is asked again by the next round. */
  async #isOver(signal: AbortSignal): Promise<boolean> {
    const asking = async (): Promise<string> => {
      const response = await fetch(this.#url, {
        headers: { connection: "close" },
        signal: AbortSignal.any([signal, AbortSignal.timeout(2000)]),
      });
      return RunStatusAnswer.parse(await response.json()).status;
    };
    const status = await asking().catch(() => "unknown");
    return !["pending", "running", "unknown"].includes(status);
  }
}

const RunStatusAnswer = z.looseObject({ status: z.string() });
const MetadataEvent = z.looseObject({ attempt: z.number() });
const MessageEvent = z.tuple([z.looseObject({ id: z.string(), content: z.string() }), z.unknown()]);

interface JudgedRun {
  threadId: string;
  runId: string;
  withKill: boolean;
  signal: AbortSignal;
}

async function judgeRun(
  server: ServerProcess,
  { threadId, runId, withKill, signal }: JudgedRun,
  readers: Reader[],
): Promise<string[]> {
  const run = await getRun(server, threadId, runId);
  if (run?.status !== "success") return [`run ${runId} ended with ${run?.status}`];
  const final = (await readMessages(server, threadId)).at(-1);
  const stored = new Reader(`${server.url}/threads/${threadId}/runs/${runId}`);
  await stored.readToEnd(signal);
  return [...readers, stored].flatMap((reader, index) => {
    const found = orderProblems(reader.events, withKill);
    if (reader.refusals.length > 0) found.push(`was refused: ${reader.refusals.join(", ")}`);
    if (final !== undefined) found.push(...textProblems(reader.events, { id: final.id ?? "", text: textOf(final) }));
    if (!withKill && index < readers.length && JSON.stringify(reader.events) !== JSON.stringify(stored.events)) {
      found.push(`got ${reader.events.length} events, ${stored.events.length} are stored, or others`);
    }
    return found.map((text) => `reader ${index < readers.length ? index : "of the store"} of ${runId}: ${text}`);
  });
}

/** Ids rise; inside an attempt they have no holes. The first attempt begins with 0, a later one with its `metadata`. */
function orderProblems(events: readonly SseEvent[], withKill: boolean): string[] {
  const problems: string[] = [];
  let last = -1;
  for (const { event, id, data } of events) {
    // Means that what a reader had seen last was lost with the process that had sent it.
    if (event === "gap") {
      if (!withKill) problems.push(`received a gap: ${data}`);
      continue;
    }
    const number = Number(id);
    const isNewAttempt = event === "metadata" && MetadataEvent.parse(JSON.parse(data)).attempt > 1;
    if (isNewAttempt && !withKill) problems.push("saw a second attempt of a run without a kill");
    if (number <= last || !(number === last + 1 || isNewAttempt)) problems.push(`got ${id} after ${last} (${event})`);
    last = number;
  }
  if (events.length === 0) problems.push("got no event");
  return problems;
}

/** The pieces of the final message, added up, are that message. */
function textProblems(events: readonly SseEvent[], final: { id: string; text: string }): string[] {
  let streamed = "";
  for (const { event, data } of events) {
    if (!/^messages(\||$)/u.test(event)) continue;
    const [message] = MessageEvent.parse(JSON.parse(data));
    if (message.id !== final.id) continue;
    streamed += message.content;
  }
  return streamed === final.text ? [] : [`read ${streamed.length} characters of ${final.text.length}`];
}
