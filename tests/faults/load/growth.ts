import { statSync } from "node:fs";
import { atMost, noneOf, quantile, type Scenario } from "../harness/scenario.ts";
import { ask, newThread, openWorld, readMessages, type World } from "../harness/world.ts";

/** Characters of the question and the answer of one turn, 2.5 KB together. */
const turnSize = { question: 600, answer: 1960 };
const measuredTurns = 300;
const megabyte = 1024 * 1024;
/** The most that may be stored after `measuredTurns` turns, MB; LangGraph's own SQLite saver needs 397. */
const maxStored = 10;

/** A conversation that grows: what it takes on the disk, and how fast it opens after a start (reliability D5). */
export const growth: Scenario = {
  name: "growth",
  async run({ long, say }) {
    const turns = long ? 1000 : measuredTurns;
    // Cold starts, each with one opening of the long thread: what it shows is the same each time, how long it takes is not.
    const openings = long ? 3 : 1;
    const world = await openWorld(({ index }) => ({ text: sized(`answer ${index}`, turnSize.answer) }));
    const { server } = world;
    try {
      const threadId = await newThread(server);
      let stored = 0;
      for (let turn = 1; turn <= turns; turn += 1) {
        await takeTurn(world, threadId, turn);
        if (turn % 250 === 0) say(`${turn} turns`);
        if (turn !== measuredTurns) continue;
        // A stop puts the log into the file, so that all of it is counted.
        await server.stop();
        stored = statSync(server.databaseFile).size / megabyte;
        await server.start();
      }
      const problems: string[] = [];
      const took: number[] = [];
      for (let opening = 0; opening < openings; opening += 1) {
        await server.stop();
        await server.start();
        const asked = performance.now();
        const messages = await readMessages(server, threadId);
        took.push(performance.now() - asked);
        if (messages.length !== 2 * turns) problems.push(`${messages.length} messages of ${2 * turns}`);
      }
      return [
        noneOf("openings that did not show every message", problems, openings),
        // What is stored is the same on every machine.
        { ...atMost(`database after ${measuredTurns} turns of 2.5 KB`, stored, maxStored, "MB"), depends: false },
        atMost(`a thread of ${turns} turns opens cold, median of ${openings}`, quantile(took, 0.5), 200, "ms"),
      ];
    } finally {
      await world.close();
    }
  },
};

async function takeTurn({ server }: World, threadId: string, turn: number): Promise<void> {
  await ask(server, "POST", `/threads/${threadId}/runs/wait`, {
    assistant_id: "one",
    input: { messages: [{ role: "user", content: sized(`question ${turn}`, turnSize.question) }] },
  });
}

/** A text that begins in its own way and has so many characters, as hard to press as prose. */
function sized(begin: string, length: number): string {
  let text = begin;
  for (let word = 0; text.length < length; word += 1)
    text += ` ${((begin.length + word) * 2_654_435_761).toString(36)}`;
  return text.slice(0, length);
}
