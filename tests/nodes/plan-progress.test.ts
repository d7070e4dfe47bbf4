import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plainPlan, toTaskPlan } from "../../src/nodes/plan.ts";
import { nextWork, withStep } from "../../src/nodes/plan/plan-progress.ts";
import type { TaskPlan } from "../../src/state.ts";

const step = (id: string, depends_on: string[] = [], tool: string | null = null) => ({
  id,
  goal: `goal ${id}`,
  tool,
  input: "",
  depends_on,
});

describe("a plan", () => {
  it("keeps only known tools and dependencies on earlier steps", () => {
    const plan = toTaskPlan({ goal: "g", steps: [step("1", ["2"], "read_file"), step("2", ["1", "9"], "fly")] }, [
      "read_file",
    ]);
    expect(plan.steps.map(({ tool, depends_on }) => ({ tool, depends_on }))).toEqual([
      { tool: "read_file", depends_on: [] },
      { tool: null, depends_on: ["1"] },
    ]);
  });

  it.each([[["1", "1"]], [["1.3", "1", "1"]], [["1", "1", "1.2", "1.2"]]])(
    "gives the steps %j names of their own",
    (ids) => {
      const plan = toTaskPlan({ goal: "", steps: ids.map((id) => step(id)) }, []);
      expect(new Set(plan.steps.map(({ id }) => id)).size).toBe(ids.length);
    },
  );

  it.each([
    ["read a.txt, then delete b.txt", ["read a.txt", "delete b.txt"]],
    ["read a.txt and then\n\n  delete b.txt. Finally list all", ["read a.txt", "delete b.txt", "list all"]],
    ["读取 a.txt，然后删除 b.txt", ["读取 a.txt", "删除 b.txt"]],
    [`read a.txt${" ".repeat(500_000)}then delete b.txt`, ["read a.txt", "delete b.txt"]],
    [`read${" ".repeat(500_000)}a.txt`, [`read${" ".repeat(500_000)}a.txt`]],
  ])("without a model is made of the tasks that the request joins: %#", (request, goals) => {
    expect(plainPlan(request).steps.map(({ goal }) => goal)).toEqual(goals);
  });

  it("does the rest and skips what depended on a failed step", () => {
    let plan = toTaskPlan({ goal: "", steps: [step("1"), step("2", ["1"]), step("3")] }, []);
    plan = withStep(plan, "1", { status: "failed", result: "no" });
    expect(plan.steps.map(({ status }) => status)).toEqual(["failed", "skipped", "pending"]);
    expect(nextWork(plan)).toMatchObject({ kind: "step", step: { id: "3" }, number: 3 });
    plan = withStep(plan, "3", { status: "done", result: "yes" });
    expect(nextWork(plan)).toEqual({ kind: "answer", failed: true });
  });

  it("always comes to its end, with every dependency done before its step", () => {
    const steps = fc.array(fc.array(fc.integer({ min: 0, max: 9 }).map(String), { maxLength: 4 }), {
      minLength: 1,
      maxLength: 10,
    });
    fc.assert(
      fc.property(steps, fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }), (dependencies, succeeds) => {
        let plan: TaskPlan = toTaskPlan(
          { goal: "", steps: dependencies.map((list, index) => step(String(index), list)) },
          [],
        );
        for (let visits = 0; visits <= plan.steps.length; visits += 1) {
          const work = nextWork(plan);
          if (work.kind !== "step") {
            expect(work.kind).toBe("answer");
            expect(plan.steps.every(({ status }) => status !== "pending")).toBe(true);
            return;
          }
          const done = plan.steps.filter(({ status }) => status === "done").map(({ id }) => id);
          expect(work.step.depends_on.every((id) => done.includes(id))).toBe(true);
          plan = withStep(plan, work.step.id, { status: succeeds[work.number - 1] === true ? "done" : "failed" });
        }
        expect.unreachable("the plan did not end");
      }),
    );
  });
});
