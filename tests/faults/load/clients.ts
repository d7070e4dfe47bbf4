import { z } from "zod";
import { readSse } from "@millrace/testing/sse-client";
import { atMost, noneOf, quantile, type Scenario } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { newThread, openWorld, startRun } from "../harness/world.ts";

const runs = 20;
const TimedEvent = z.looseObject({ at: z.number() });

/** Many clients on twenty runs, one event a second each: how late events arrive (reliability E4). */
export const clients: Scenario = {
  name: "clients",
  async run({ long }) {
    const count = long ? 1000 : 200;
    const events = long ? 30 : 12;
    const world = await openWorld(answer);
    const { server } = world;
    try {
      const paths = await Promise.all(
        Array.from({ length: runs }, async () => {
          const threadId = await newThread(server);
          const { run_id: runId } = await startRun(server, threadId, {
            assistant_id: "talker",
            input: { events, size: 100, pause: 1000 },
            stream_mode: ["custom"],
            stream_resumable: true,
          });
          return `/threads/${threadId}/runs/${runId}/stream`;
        }),
      );
      const delays: number[] = [];
      const problems: string[] = [];
      const opened = performance.now();
      let slowestOpen = 0;
      await Promise.all(
        Array.from({ length: count }, async (_, index) => {
          let seen = 0;
          let openedAt = Number.POSITIVE_INFINITY;
          const end = await readSse({
            url: server.url + (paths[index % runs] ?? ""),
            onOpen: () => {
              openedAt = Date.now();
              slowestOpen = Math.max(slowestOpen, performance.now() - opened);
            },
            onEvent: ({ event, data }) => {
              if (event !== "custom") return;
              seen += 1;
              const { at } = TimedEvent.parse(JSON.parse(data));
              // What was emitted before this reader came is not late.
              if (at > openedAt) delays.push(Date.now() - at);
            },
          });
          if (end.kind !== "complete" || seen !== events) problems.push(`${end.kind} with ${seen} of ${events} events`);
        }),
      );
      return [
        noneOf("clients whose stream broke or was not whole", problems, count),
        atMost(
          `p99 delay of ${delays.length} events at ${count} clients on ${runs} runs`,
          quantile(delays, 0.99),
          250,
          "ms",
        ),
        atMost("until all streams were open", Math.round(slowestOpen), 5000, "ms"),
      ];
    } finally {
      await world.close();
    }
  },
};
