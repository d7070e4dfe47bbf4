import { z } from "zod";
import { AppError } from "../../errors.ts";
import { readIfThere } from "../workspace-text.ts";
import { priorities, type Collector } from "./collector.ts";
import { namedAfter } from "./named-after.ts";

/** Where the goals of a project are, unless the session says otherwise or a file is named after the circuit. */
const usualPath = ".circuit_ai/design_goals.json";

const Goal = z.looseObject({
  name: z.string().optional(),
  metric: z.string().optional(),
  target: z.union([z.number(), z.string()]),
  tolerance: z.union([z.number(), z.string()]).nullish(),
  priority: z.union([z.number(), z.string()]).nullish(),
});
/** A list, a list under `goals`, or goals by the names of their figures. */
const Goals = z.union([
  z.array(Goal),
  z.looseObject({ goals: z.array(Goal) }).transform(({ goals }) => goals),
  z.record(z.string(), Goal).transform((named) => Object.entries(named).map(([metric, goal]) => ({ metric, ...goal }))),
]);

/** What the design has to reach, and how far the last simulation is from it (CIRC-03). */
export const designGoals: Collector = {
  name: "design_goals",
  title: "Design goals",
  priority: priorities.high,
  reserved: 300,
  async collect({ workspace, circuit_file, design_goals: path, metrics }, signal) {
    const named = circuit_file === null ? [] : [namedAfter(circuit_file, "_goals.json"), usualPath];
    for (const place of path === null ? named : [path]) {
      const file = await readIfThere(workspace, place, signal);
      if (file === null) continue;
      const goals = parse(file.text, place);
      return goals.length === 0 ? null : goals.map((goal) => lineOf(goal, metrics ?? {})).join("\n");
    }
    return null;
  },
};

function parse(text: string, path: string): z.infer<typeof Goals> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new AppError("invalid_format", `"${path}" is not JSON.`, { cause: error });
  }
  const parsed = Goals.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new AppError("invalid_format", `"${path}" is no list of goals, each with a target.`);
}

function lineOf(goal: z.infer<typeof Goal>, metrics: Readonly<Record<string, number>>): string {
  const { target, tolerance, priority } = goal;
  const name = goal.metric ?? goal.name ?? "goal";
  const more = [
    tolerance === undefined || tolerance === null ? null : `tolerance ${tolerance}`,
    priority === undefined || priority === null ? null : `priority ${priority}`,
    stateOf(target, tolerance, Object.hasOwn(metrics, name) ? metrics[name] : undefined),
  ].filter((part) => part !== null);
  return `- ${name}: target ${target}${more.map((part) => `, ${part}`).join("")}`;
}

/** With a tolerance, as near as that is near enough; without one, as much as the target is enough. */
function stateOf(target: number | string, tolerance: unknown, value: number | undefined): string | null {
  if (value === undefined || typeof target !== "number") return null;
  const gap = Number((value - target).toPrecision(6));
  const isReached = typeof tolerance === "number" ? Math.abs(gap) <= tolerance : gap >= 0;
  return isReached ? `reached with ${value}` : `not reached: ${value}, off by ${gap}`;
}
