import { Incident, noVerdict, type IncidentPlan } from "../harness/incident.ts";
import { pointPlans } from "./point-plans.ts";
import { atMost, noneOf, quantile, type Random, type Scenario } from "../harness/scenario.ts";
import { createStage } from "../harness/stage.ts";
import { openWorld } from "../harness/world.ts";

const longestStop = 500;

/** Stops, crashes and denials at every kind of point of a run (reliability R6, E6). */
export const points: Scenario = {
  name: "points",
  async run({ long, random, say }) {
    const incidents = planIncidents(long ? 200 : 24, random);
    const stage = createStage();
    const verdict = noVerdict();
    // The kills come from outside: no run is to blame for them.
    const world = await openWorld(stage.handler, { environment: { MILLRACE_CRASH_BUDGET: "1000" } });
    try {
      for (const [index, plan] of incidents.entries()) {
        await new Incident(world, stage, plan, random, verdict).play();
        if ((index + 1) % 20 === 0) say(`${index + 1} of ${incidents.length} incidents`);
      }
      const count = incidents.length;
      const refused = [...world.model.unexpected, ...stage.problems];
      const { compared } = verdict;
      return [
        noneOf("points that were not reached", verdict.missed, count),
        noneOf(`histories a strict provider refused after ${tally(incidents)}`, refused, count),
        noneOf("stored histories not valid, or not what was sent", verdict.histories, count),
        noneOf("partial texts that are not what readers received", verdict.partials, compared.received),
        {
          what: "partial texts compared, and stored among them",
          measured: `${compared.received}, ${compared.stored}`,
          target: "> 0",
          // That one is too short to be stored is left to chance: of a few it may be none.
          holds: compared.stored > 0 && (!long || compared.received > compared.stored),
        },
        noneOf("effects begun after the answer to a stop, or twice", verdict.effects, count),
        noneOf("next messages not answered", verdict.unanswered, count),
        atMost(
          `p99 from the request to the end of the stream of ${verdict.stops.length} stops`,
          Math.round(quantile(verdict.stops, 0.99)),
          longestStop,
          "ms",
        ),
      ];
    } finally {
      await world.close();
    }
  },
};

/** Every point with every fault in turn, in an order that the seed decides. */
function planIncidents(count: number, random: Random): IncidentPlan[] {
  const kinds = pointPlans.flatMap((plan) => plan.faults.map((fault) => ({ plan, fault })));
  const shuffled: typeof kinds = [];
  for (let rest = kinds; rest.length > 0; rest = rest.filter((kind) => kind !== shuffled.at(-1))) {
    shuffled.push(random.pick(rest));
  }
  const pick = (index: number): (typeof kinds)[number] => shuffled[index % shuffled.length] ?? random.pick(kinds);
  return Array.from({ length: count }, (_, index) => ({ ...pick(index), item: `p${index}` }));
}

function tally(incidents: readonly IncidentPlan[]): string {
  const count = (wanted: string): number => incidents.filter(({ fault }) => fault === wanted).length;
  return `${count("stop")} stops, ${count("crash")} crashes and ${count("deny")} denials`;
}
