import fc from "fast-check";
import { hostileCase } from "../../loop/model-call/hostile-model.ts";
import { makeOutside, playHostile } from "../../loop/model-call/hostile-run.ts";
import { noneOf, type Scenario } from "../harness/scenario.ts";

/** Its models are known to reach the tools and the person; few do (100 have 24 to 71 effects), so a random sample may not. */
const reachingSeed = 11;

/** Models that mean no good against the whole workflow and all tools; inside this process. */
export const hostile: Scenario = {
  name: "hostile",
  run: async ({ long, seed, say }) => {
    const models = long ? 1000 : 100;
    const outside = await makeOutside();
    try {
      const problems: string[] = [];
      const ends = new Map<string, number>();
      const done = { questions: 0, effects: 0 };
      const [drawn = [], reaching = []] = [seed, reachingSeed].map((one) =>
        fc.sample(hostileCase(outside.path), { numRuns: models / 2, seed: one }),
      );
      for (const [at, each] of [...drawn, ...reaching].entries()) {
        const outcome = await playHostile(each, outside);
        problems.push(...outcome.problems.map((problem) => `model ${at}: ${problem}`));
        for (const end of outcome.ends) ends.set(end, (ends.get(end) ?? 0) + 1);
        if (at < drawn.length) continue;
        done.questions += outcome.questions;
        done.effects += outcome.effects;
      }
      say([...ends].map(([end, count]) => `${count} x ${end}`).join(", "));
      const { questions, effects } = done;
      return [
        noneOf("hostile models whose run did not end well, or that acted without an approval", problems, models),
        {
          what: `the ${reaching.length} of a known seed reached the tools and the person`,
          measured: `${effects} effects, ${questions} questions`,
          target: `more than ${models / 10} effects and ${models / 20} questions`,
          holds: effects > models / 10 && questions > models / 20,
        },
      ];
    } finally {
      await outside.remove();
    }
  },
};
