import { z } from "zod";
import { atMost, noneOf, quantile, type Figure } from "../harness/scenario.ts";
import { ask, newThread, textOf, WireMessage, type World } from "../harness/world.ts";

/** Failures that open a breaker (SVC-03). */
const failuresToOpen = 5;
/** Milliseconds that a run may lose because its first provider is down. */
const maxLost = 50;
const Status = z.looseObject({
  models: z.array(
    z.looseObject({
      model: z.string(),
      state: z.string(),
      statistics: z.looseObject({ calls: z.number(), refused: z.number() }),
    }),
  ),
});
const Ended = z.looseObject({ messages: z.array(WireMessage) });

/**
 * Runs whose first provider takes no connection, and runs that ask their fallback from the start, in turns: when the breaker opens,
 * who answers, and what a run then loses.
 */
export async function firstProviderDown(world: World, runs: number): Promise<Figure[]> {
  const unanswered: string[] = [];
  const down = { model: "gone:main", fallback_model: "openai:well", limits: { agentic_connection_retries: 0 } };
  for (let run = 0; run < failuresToOpen; run += 1) await timed(world, down, unanswered);
  const times: Record<"down" | "usual", number[]> = { down: [], usual: [] };
  for (let run = 0; run < runs; run += 1) {
    times.down.push(await timed(world, down, unanswered));
    times.usual.push(await timed(world, { model: "openai:well" }, unanswered));
  }
  const { models } = Status.parse(await ask(world.server, "GET", "/providers/gone/status"));
  const [gone] = models;
  const { calls = 0, refused = 0 } = gone?.statistics ?? {};
  const opened = calls === failuresToOpen && refused === runs && gone?.state === "open";
  const [lost, usual] = [quantile(times.down, 0.5) - quantile(times.usual, 0.5), quantile(times.usual, 0.5)];
  return [
    {
      what: `requests to a provider that is down, before its breaker opened (${gone?.state})`,
      measured: `${calls}, and ${refused} of ${runs} later ones not made`,
      target: `${failuresToOpen}, ${runs}`,
      holds: opened,
    },
    noneOf("runs that the fallback did not answer", unanswered, failuresToOpen + runs),
    atMost(`what the next runs lost at p50, of ${usual.toFixed(0)} ms`, lost, maxLost, "ms"),
  ];
}

/** Milliseconds of one run on a thread of its own. */
async function timed(world: World, context: object, unanswered: string[]): Promise<number> {
  const threadId = await newThread(world.server);
  const started = performance.now();
  const values = await ask(world.server, "POST", `/threads/${threadId}/runs/wait`, {
    assistant_id: "agent",
    input: { messages: [{ role: "user", content: "Are you there?" }] },
    context: { mode: "free_work", ...context },
  });
  const taken = performance.now() - started;
  const last = Ended.safeParse(values).data?.messages.at(-1);
  if (last?.type !== "ai" || textOf(last) !== "All is well again.")
    unanswered.push(JSON.stringify(values).slice(0, 200));
  return taken;
}
