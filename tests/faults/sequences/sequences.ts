import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { noneOf, type Figure, type Scenario, type ScenarioContext } from "../harness/scenario.ts";
import { editWays } from "./session-edit.ts";
import { SessionModel } from "./session-model.ts";
import type { Step } from "./session-step.ts";
import { openWorld, type Addressed, type World } from "../harness/world.ts";

const strategies = ["reject", "enqueue", "interrupt", "rollback"] as const;
const send = fc.record({
  kind: fc.constant("send" as const),
  strategy: fc.constantFrom(...strategies),
  words: fc.constantFrom("short" as const, "slow" as const, "ask" as const),
});
const pause = fc.record({ kind: fc.constant("pause" as const), milliseconds: fc.integer({ min: 0, max: 120 }) });
const step = fc.oneof<fc.MaybeWeightedArbitrary<Step>[]>(
  { weight: 8, arbitrary: send },
  { weight: 5, arbitrary: pause },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("stop" as const),
      action: fc.constantFrom("interrupt" as const, "rollback" as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("approve" as const), yes: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("fork" as const), back: fc.integer({ min: 0, max: 6 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("edit" as const),
      which: fc.integer({ min: 0, max: 6 }),
      way: fc.constantFrom(...editWays),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "copy" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "delete" as const }) },
);
const short: Step = { kind: "send", strategy: "enqueue", words: "short" };
const rest: Step = { kind: "rest" };
/** Each kind of step once when it finds something to do: when the random ones come depends on how fast the machine is. */
const certain: Step[][] = [
  [short, rest, { kind: "fork", back: 0 }],
  [{ ...short, words: "ask" }, rest, { kind: "approve", yes: true }],
  [
    { ...short, words: "slow" },
    { kind: "stop", action: "interrupt" },
  ],
  [short, rest, { kind: "edit", which: 0, way: editWays[0] }, { kind: "copy" }, { kind: "delete" }],
];
const atOnce = 6;

/** How many sequences of which length are played, and where each request goes. */
interface Played {
  count: number;
  length: { minLength: number; maxLength: number };
  at: Addressed;
}

/** Random sequences of send, stop, approve, edit, fork, copy and delete on one session, four strategies (reliability E7). */
export const sequences: Scenario = {
  name: "sequences",
  async run(context) {
    const world = await openWorld(answer);
    try {
      const length = { minLength: 4, maxLength: 16 };
      return await playSequences(world, { count: context.long ? 1000 : 60, length, at: world.server }, context);
    } finally {
      await world.close();
    }
  },
};

/** Plays the random sequences, after each kind of step once for certain, on sessions of their own. */
export async function playSequences(
  world: Pick<World, "effectsFile" | "model">,
  { count, length, at }: Played,
  { seed, say }: Pick<ScenarioContext, "seed" | "say">,
): Promise<Figure[]> {
  const wanted = [...certain, ...fc.sample(fc.array(step, { ...length, size: "max" }), { seed, numRuns: count })];
  const problems: string[] = [];
  const done = new Map<string, number>();
  let messages = 0;
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < wanted.length; index = next++) {
      const session = new SessionModel(at, `s${index}`);
      const found = await session.play(wanted[index] ?? []).catch((error: unknown) => [String(error)]);
      messages += session.accepted;
      for (const [kind, times] of session.done) done.set(kind, (done.get(kind) ?? 0) + times);
      problems.push(...found.map((text) => `sequence ${index}: ${text}`));
      if ((index + 1) % 100 === 0) say(`${index + 1} of ${wanted.length} sequences`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  // What was stopped may still be on its way out.
  await delay(300);
  const counts = ["send", "stop", "approve", "edit", "fork", "copy", "delete"].map(
    (kind) => `${kind} ${done.get(kind) ?? 0}`,
  );
  return [
    {
      what: "steps that did something",
      measured: counts.join(", "),
      target: "each > 0",
      holds: counts.every((text) => !text.endsWith(" 0")),
    },
    noneOf(
      `accepted messages lost, repeated or out of order, or histories not valid, in ${wanted.length} sequences`,
      problems,
      messages,
    ),
    noneOf("runs of one session that overlapped", overlaps(readFileSync(world.effectsFile, "utf8")), messages),
    noneOf("histories a strict provider refused", world.model.unexpected, messages),
  ];
}

/** Sessions in the tools' record that were begun twice without an end between. */
function overlaps(record: string): string[] {
  const open = new Set<string>();
  const found: string[] = [];
  for (const line of record.split("\n")) {
    const [what, session = ""] = line.split(" ");
    if (line.split(" ").length !== 2) continue;
    if (what === "begin" && open.has(session)) found.push(session);
    if (what === "begin") open.add(session);
    else open.delete(session);
  }
  return found;
}

/** What the model says in sequences: an answer, after an approval where the message asks for one. */
export function answer(request: ModelRequest): ModelStep {
  const asked = request.messages.findLastIndex((message) => message.role === "user");
  const text = wireText(request.messages[asked] ?? { role: "user", content: "" });
  const isAnswered = request.messages.slice(asked).some((message) => message.role === "tool");
  if (text.endsWith("ask") && !isAnswered) {
    return { toolCalls: [{ name: "ask_first", arguments: { item: text.replaceAll(" ", "-") } }], delayMs: 2 };
  }
  return { text: `Answer to ${text}: ${"and so on ".repeat(8)}`, delayMs: text.endsWith("slow") ? 8 : 1 };
}
