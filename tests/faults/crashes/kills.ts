import { setTimeout as delay } from "node:timers/promises";
import { Aftermath, patience, shapeNames } from "../harness/aftermath.ts";
import type { Random, Scenario } from "../harness/scenario.ts";
import { answer, defaultTime, type Shape } from "../harness/script.ts";
import { approveSubject, beginSubject, settled, type Subject } from "../harness/subject.ts";
import { openWorld, type World } from "../harness/world.ts";

/** `kill -9` right after an acceptance and at random points of eight graph shapes (reliability R1, R3, R4). */
export const kills: Scenario = {
  name: "kills",
  async run({ long, random, say }) {
    // In the short form each shape twice.
    const count = long ? 150 : 2 * shapeNames.length;
    const world = await openWorld(answer);
    try {
      const aftermath = new Aftermath(world);
      for (let kill = 0; kill < count; kill += 1) {
        const shape = shapeNames[kill % shapeNames.length] ?? "single";
        const other = random.pick(shapeNames);
        const hit = [
          await prepare(world, shape, `k${kill}a`, random),
          await prepare(world, other, `k${kill}b`, random),
        ];
        // Every third is killed within 20 ms of its acceptance.
        await delay(random.below(kill % 3 === 0 ? 20 : defaultTime[shape]));
        await world.server.kill();
        await aftermath.noteFinished(hit);
        await world.server.start();
        await aftermath.recover(hit);
        if ((kill + 1) % 10 === 0) say(`${kill + 1} of ${count} kills`);
      }
      return await aftermath.figures(`${count} kills`);
    } finally {
      await world.close();
    }
  },
};

/** A run at its beginning or, of those that ask, sometimes one that has just been answered. */
async function prepare(world: World, shape: Shape, item: string, random: Random): Promise<Subject> {
  const subject = await beginSubject(world, shape, item);
  if (shape === "approval" && random.below(2) === 0) {
    await settled(world, subject, patience);
    await approveSubject(world, subject);
  }
  return subject;
}
