import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  budgetMonitor,
  collectedTokens,
  historyTokens,
  inputTokens,
  referenceSplit,
  windowBudget,
} from "../../src/context/budget.ts";
import { ContextShares } from "../../src/user-context.ts";

describe("the monitor of a budget", () => {
  it("takes what fits, refuses what does not, and reports shares of the whole (CTX-21)", () => {
    const monitor = budgetMonitor(1000);
    expect(monitor.allocate("system", 155)).toBe(true);
    expect(monitor.allocate("history", 846)).toBe(false);
    expect(monitor.allocate("history", 845)).toBe(true);
    expect(monitor.remaining()).toBe(0);
    expect(monitor.report()).toEqual({
      total: 1000,
      remaining: 0,
      allocations: [
        { category: "system", tokens: 155, percent: 15.5, reference_percent: 15, is_refused: false },
        { category: "history", tokens: 846, percent: 84.6, reference_percent: 47, is_refused: true },
        { category: "history", tokens: 845, percent: 84.5, reference_percent: 47, is_refused: false },
      ],
    });
  });

  it("never gives more than there is", () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.array(fc.nat(5000)), (total, wishes) => {
        const monitor = budgetMonitor(total);
        for (const tokens of wishes) monitor.allocate("system", tokens);
        const { allocations, remaining } = monitor.report();
        const taken = allocations.filter(({ is_refused }) => !is_refused).reduce((sum, { tokens }) => sum + tokens, 0);
        expect(remaining).toBeGreaterThanOrEqual(0);
        expect(taken + remaining).toBe(total);
      }),
    );
  });

  it("keeps 30 % for the answer, and refuses a history that does not fit beside it", () => {
    const report = windowBudget(128_000, { system: 19_200, user_input: 5000, history: 70_000 });
    expect(report.allocations.map(({ category, tokens, is_refused }) => [category, tokens, is_refused])).toEqual([
      ["output_reserve", 38_400, false],
      ["system", 19_200, false],
      ["user_input", 5000, false],
      ["history", 70_000, true],
    ]);
    expect(report.remaining).toBe(128_000 - 38_400 - 19_200 - 5000);
  });

  it("compares with a split of the whole window (CTX-22)", () => {
    expect(referenceSplit).toEqual({ system: 15, history: 47, user_input: 4, output_reserve: 34 });
    const thousands = Object.values(referenceSplit).map((percent) => Math.round((128 * percent) / 100));
    // The system's 20K and the rest of table 2.4.7.3, to a thousand.
    for (const [index, tokens] of [20, 60, 5, 43].entries()) {
      expect(Math.abs((thousands[index] ?? 0) - tokens)).toBeLessThanOrEqual(1);
    }
  });
});

describe("the shares of what a model may read (CTX-16)", () => {
  it("are 100 % together as they come, and half of it is for what is found", () => {
    const usual = ContextShares.parse({});
    expect(usual).toEqual({
      system: 0.05,
      diagnostics: 0.1,
      implicit: 0.15,
      dependencies: 0.1,
      summary: 0.05,
      rag: 0.15,
      history: 0.2,
      user_files: 0.1,
      web_search: 0.1,
    });
    expect(Object.values(usual).reduce((sum, one) => sum + one, 0)).toBeCloseTo(1);
    expect(collectedTokens(100_000, usual, false)).toBe(50_000);
    expect(collectedTokens(100_000, usual, true)).toBe(70_000);
  });

  it.each([
    [128_000, 32_768, 95_232],
    [128_000, 65_536, 89_600],
    [8000, 8000, 5600],
  ])("are of a window of %i beside an answer of %i: %i", (context, output, tokens) => {
    expect(inputTokens({ context, output })).toBe(tokens);
  });

  it("leave to the history what the others do not take, and take from it what they need beyond theirs", () => {
    const usual = ContextShares.parse({});
    expect(historyTokens(100_000, usual, 0)).toBe(100_000);
    expect(historyTokens(100_000, usual, 80_000)).toBe(20_000);
    expect(historyTokens(100_000, usual, 95_000)).toBe(5000);
    expect(historyTokens(100_000, usual, 200_000)).toBe(0);
    expect(historyTokens(100_000, ContextShares.parse({ web_search: 0, rag: 0 }), 30_000)).toBe(45_000);
  });

  it("can be chosen, and are refused where they are more than there is", () => {
    const shares = ContextShares.parse({ rag: 0, implicit: 0.3 });
    expect(collectedTokens(1000, shares, false)).toBe(500);
    expect(ContextShares.safeParse({ history: 0.3 }).error?.issues[0]?.message).toContain("more than 1 together");
    expect(ContextShares.safeParse({ history: -1 }).success).toBe(false);
  });
});
