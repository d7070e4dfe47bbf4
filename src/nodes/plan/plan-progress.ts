import type { PlanStep, TaskPlan } from "../../state.ts";

/** What a plan needs next: a step that can start, the closing answer, or nothing more. */
export type PlanWork =
  | { kind: "step"; step: PlanStep; number: number }
  | { kind: "answer"; failed: boolean }
  | { kind: "over" };

/** The next step whose dependencies are done; when none can start any more, the answer. Pure. */
export function nextWork(plan: TaskPlan): PlanWork {
  if (plan.status !== "active") return { kind: "over" };
  const done = new Set(plan.steps.filter((step) => step.status === "done").map((step) => step.id));
  const index = plan.steps.findIndex(
    (step) => step.status === "pending" && step.depends_on.every((dependency) => done.has(dependency)),
  );
  const step = plan.steps[index];
  if (step !== undefined) return { kind: "step", step, number: index + 1 };
  return { kind: "answer", failed: done.size < plan.steps.length };
}

/** The plan with one step changed; steps that depend on a failed one are skipped. */
export function withStep(plan: TaskPlan, id: string, change: Partial<Pick<PlanStep, "status" | "result">>): TaskPlan {
  const steps = plan.steps.map((step) => (step.id === id ? { ...step, ...change } : step));
  const lost = new Set(steps.filter((step) => ["failed", "skipped"].includes(step.status)).map((step) => step.id));
  for (const [index, step] of steps.entries()) {
    if (step.status !== "pending" || !step.depends_on.some((dependency) => lost.has(dependency))) continue;
    lost.add(step.id);
    steps[index] = { ...step, status: "skipped" };
  }
  return { ...plan, steps };
}
