import { assessGoal, readGoals, defaultGoals, type Goal, type GoalState } from "../simulation/goals.ts";
import { readIfThere } from "../../../src/context/workspace/workspace-text.ts";
import { priorities, type Collector } from "../../../src/context/collector.ts";
import type { CircuitPlace } from "./circuit-place.ts";
import { namedAfter } from "./named-after.ts";

/** The design goals, and the last simulation's distance from them. */
export const designGoals: Collector<CircuitPlace> = {
  name: "design_goals",
  title: "Design goals",
  priority: priorities.high,
  reserved: 300,
  async collect({ workspace, circuit_file, design_goals: path, metrics }, signal) {
    const named = circuit_file === null ? [] : [namedAfter(circuit_file, "_goals.json"), defaultGoals];
    for (const place of path === null ? named : [path]) {
      const file = await readIfThere(workspace, place, signal);
      if (file === null) continue;
      const goals = readGoals(file.text, place);
      return goals.length === 0 ? null : goals.map((goal) => lineOf(goal, metrics ?? {})).join("\n");
    }
    return null;
  },
};

function lineOf(goal: Goal, metrics: Readonly<Record<string, number>>): string {
  const { metric, target, tolerance, priority } = goal;
  const more = [
    tolerance === null ? null : `tolerance ${tolerance}`,
    priority === null ? null : `priority ${priority}`,
    stateText(assessGoal(goal, metrics)),
  ].filter((one) => one !== null);
  return `- ${metric}: target ${target}${more.map((one) => `, ${one}`).join("")}`;
}

function stateText(state: GoalState): string | null {
  switch (state.kind) {
    case "unknown":
      return null;
    case "reached":
      return `reached with ${state.value}`;
    case "missed":
      return `not reached: ${state.value}, off by ${state.gap}`;
  }
}
