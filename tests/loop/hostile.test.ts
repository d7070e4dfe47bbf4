import fc from "fast-check";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { hostileCase } from "./hostile-model.ts";
import { makeOutside, playHostile, type Outside } from "./hostile-run.ts";

/** Models; the fault suite plays 1,000. */
const models = Number(process.env["HOSTILE"] ?? 40);
const seed = Number(process.env["SEED"] ?? Date.now() % 100_000);

let outside: Outside;
beforeAll(async () => {
  // The model library advises an upgrade whenever no call of a reply can be read; here that is many times.
  vi.spyOn(console, "warn").mockReturnValue();
  outside = await makeOutside();
});
afterAll(async () => {
  vi.restoreAllMocks();
  await outside.remove();
});

it(
  `${models} hostile models: words at the end, a reason, a valid history, nothing outside and nothing lost without a yes (seed ${seed})`,
  { timeout: 600_000 },
  async () => {
    const ends = new Map<string, number>();
    let questions = 0;
    let effects = 0;
    const property = fc.asyncProperty(hostileCase(outside.path), async (hostile) => {
      const outcome = await playHostile(hostile, outside);
      for (const end of outcome.ends) ends.set(end, (ends.get(end) ?? 0) + 1);
      questions += outcome.questions;
      effects += outcome.effects;
      expect(outcome.problems).toEqual([]);
    });
    await fc.assert(property, { numRuns: models, seed, endOnFailure: true });
    const counts = [...ends].map(([end, count]) => `${count} x ${end}`).join(", ");
    process.stdout.write(`${models} hostile models: ${counts}; ${questions} questions, ${effects} effects\n`);
    // They have to reach the tools and the person, or the test is worth nothing.
    expect(effects).toBeGreaterThan(models / 10);
    expect(questions).toBeGreaterThan(models / 20);
  },
);
