import { z } from "zod";
import type { FileContext } from "../../../src/tools/workspace/file-access.ts";
import { assessGoal, readGoals, defaultGoals, type Goal } from "../simulation/goals.ts";
import { besideCircuit, readTextIfThere } from "./deck-file.ts";

const State = z.discriminatedUnion("kind", [
  z.object({ kind: z.enum(["reached", "missed"]), value: z.number(), gap: z.number() }),
  z.object({ kind: z.literal("unknown") }),
]);

/** A goal and how far it is reached, as results hold it. */
export const AssessedGoal = z.object({
  metric: z.string(),
  target: z.union([z.number(), z.string()]),
  way: z.enum(["at_least", "at_most", "near"]),
  unit: z.string(),
  /** The unit of the figure that was measured. */
  figure_unit: z.string(),
  state: State,
});
export type AssessedGoal = z.infer<typeof AssessedGoal>;

/** The goals of a circuit: those of its own file, else those of the project. Throws as `readGoals`. */
export async function goalsOf(circuit: string, context: FileContext): Promise<Goal[]> {
  for (const path of [besideCircuit(circuit, "_goals.json"), defaultGoals]) {
    const text = await readTextIfThere(context, path);
    if (text !== null) return readGoals(text, path);
  }
  return [];
}

/** Goals with how far figures reach them. */
export function assessed(
  goals: readonly Goal[],
  metrics: Readonly<Record<string, number>>,
  units: Readonly<Record<string, string>>,
): AssessedGoal[] {
  return goals.map((goal) => {
    const { metric, target, way, unit } = goal;
    const state = assessGoal(goal, metrics);
    const figure =
      state.kind === "unknown" ? undefined : Object.entries(metrics).find(([, value]) => value === state.value);
    return { metric, target, way, unit, figure_unit: units[figure?.[0] ?? ""] ?? "", state };
  });
}
