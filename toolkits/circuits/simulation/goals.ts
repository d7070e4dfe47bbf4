import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { smallerIsBetter } from "../../../src/guardrails/smaller-is-better.ts";

/** The default file of a project's goals, unless the session names one or a file is named after the circuit. */
export const defaultGoals = ".circuit_ai/design_goals.json";

const amount = z.union([z.number(), z.string()]);
const WrittenGoal = z
  .looseObject({
    name: z.string().optional(),
    metric: z.string().optional(),
    target: amount.optional(),
    /** As in goals that a model extracted from a request. */
    value: amount.optional(),
    operator: z.string().optional(),
    unit: z.string().nullish(),
    tolerance: amount.nullish(),
    priority: amount.nullish(),
  })
  .refine(({ target, value }) => target !== undefined || value !== undefined, "a goal needs a target");
type WrittenGoal = z.infer<typeof WrittenGoal>;

/** A list, a list under `goals`, or goals by figure name. */
const Goals = z.union([
  z.array(WrittenGoal),
  z.looseObject({ goals: z.array(WrittenGoal) }).transform(({ goals }) => goals),
  z
    .record(z.string(), WrittenGoal)
    .transform((named) => Object.entries(named).map(([metric, goal]) => ({ metric, ...goal }))),
]);

/** A design goal for one figure. `target` is the original; `number` is its value, if numeric. */
export interface Goal {
  metric: string;
  target: number | string;
  number: number | undefined;
  /** The tolerance, in the target's unit. */
  tolerance: number | string | null;
  way: "at_least" | "at_most" | "near";
  unit: string;
  priority: number | string | null;
}

/** The status of a goal. `gap` is value minus target. */
export type GoalState = { kind: "reached" | "missed"; value: number; gap: number } | { kind: "unknown" };

/** Parses a goals file. Throws `invalid_format` for anything else. */
export function readGoals(text: string, path: string): Goal[] {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new AppError("invalid_format", `"${path}" is not JSON.`, { cause: error });
  }
  const parsed = Goals.safeParse(data);
  if (parsed.success) return parsed.data.map(goalOf);
  throw new AppError("invalid_format", `"${path}" is no list of goals, each with a target.`);
}

/**
 * Assesses a goal by the last figures: within its tolerance; without one at least the target, or at most if smaller is
 * better.
 */
export function assessGoal(goal: Goal, metrics: Readonly<Record<string, number>>): GoalState {
  const value = figureFor(goal.metric, metrics);
  if (value === undefined || goal.number === undefined) return { kind: "unknown" };
  const gap = Number((value - goal.number).toPrecision(6));
  const tolerance = quantity(goal.tolerance ?? 0, goal.unit) ?? 0;
  const isReached =
    goal.way === "near" ? Math.abs(gap) <= tolerance : goal.way === "at_most" ? gap <= tolerance : gap >= -tolerance;
  return { kind: isReached ? "reached" : "missed", value, gap };
}

/** Parses a number with its unit: `20 dB`, `1 MHz`, `5mW`; `M` is mega, `m` milli. `undefined` if invalid. */
export function quantity(written: number | string, unit = ""): number | undefined {
  if (typeof written === "number") return written;
  const [, digits = "", prefix = "", rest = ""] =
    /^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(meg|[TGMkKmuµnpf](?![a-z]*eg\b))?\s*([\p{L}%°Ω/]*)\s*$/u.exec(
      written,
    ) ?? [];
  if (digits === "") return undefined;
  // A unit may begin like a prefix: no unit here uses m for metre, but "meg" and "M" both mean mega.
  const factors: Record<string, number> = {
    T: 1e12,
    G: 1e9,
    M: 1e6,
    meg: 1e6,
    k: 1e3,
    K: 1e3,
    m: 1e-3,
    u: 1e-6,
    µ: 1e-6,
    n: 1e-9,
    p: 1e-12,
    f: 1e-15,
  };
  const isUnit = `${prefix}${rest}` === unit && unit !== "";
  return Number(digits) * (isUnit ? 1 : (factors[prefix] ?? 1));
}

/** A figure by its name, ignoring case, separators and a unit at the end. */
function figureFor(name: string, metrics: Readonly<Record<string, number>>): number | undefined {
  if (Object.hasOwn(metrics, name)) return metrics[name];
  const wanted = plain(name);
  return Object.entries(metrics).find(([known]) => plain(known) === wanted)?.[1];
}

const otherNames: Readonly<Record<string, string>> = {
  gbw: "unitygainfrequency",
  gainbandwidth: "unitygainfrequency",
  gainbandwidthproduct: "unitygainfrequency",
  unitygainbandwidth: "unitygainfrequency",
  ugf: "unitygainfrequency",
  pm: "phasemargin",
  voltagegain: "gain",
  cutoff: "bandwidth",
  cutofffrequency: "bandwidth",
  q: "qualityfactor",
};

function plain(name: string): string {
  const words = name
    .toLowerCase()
    .replace(/[_ ](?:db|hz|deg|v|w|s|percent)$/u, "")
    .replaceAll(/[^\p{L}\d]/gu, "");
  return otherNames[words] ?? words;
}

function goalOf(goal: WrittenGoal): Goal {
  const metric = goal.metric ?? goal.name ?? "goal";
  const target = goal.target ?? goal.value ?? "";
  const unit = goal.unit ?? "";
  const tolerance = goal.tolerance ?? null;
  return {
    metric,
    target,
    number: quantity(typeof target === "number" ? scaled(target, unit) : target, unit),
    tolerance: typeof tolerance === "number" ? scaled(tolerance, unit) : tolerance,
    way: wayOf(goal.operator, tolerance !== null, metric),
    unit,
    priority: goal.priority ?? null,
  };
}

/** If the unit has its own prefix, such as kHz, the number is in that unit. */
function scaled(value: number, unit: string): number {
  const factor = /^[TGMkKmuµnpf](?:Hz|V|A|W|s|F|H|Ω|Ohm)(?:\/|$)/u.test(unit) ? quantity(`1 ${unit}`) : undefined;
  return value * (factor ?? 1);
}

function wayOf(operator: string | undefined, hasTolerance: boolean, metric: string): Goal["way"] {
  if (operator !== undefined && /^(?:>=?|≥|min|at.?least)/u.test(operator)) return "at_least";
  if (operator !== undefined && /^(?:<=?|≤|max|at.?most)/u.test(operator)) return "at_most";
  if (operator !== undefined || hasTolerance) return "near";
  return smallerIsBetter(metric) ? "at_most" : "at_least";
}
