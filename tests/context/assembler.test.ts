import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assembleContext, cutToTokens } from "../../src/context/assembler.ts";
import { collectContext } from "../../src/context/collect.ts";
import type { CollectionContext, Collector } from "../../src/context/collector.ts";
import { countText } from "../../src/context/tokens/tokens.ts";

// These collectors look at nothing.
const where = {} as CollectionContext;
const { signal } = new AbortController();

const source = (name: string, collect: Collector["collect"], reserved = 0): Collector => ({
  name,
  title: name,
  priority: 20,
  reserved,
  collect,
});

describe("collecting", () => {
  it("leaves out sources that fail, are too slow or are empty, and reports the first two", async () => {
    const problems: string[] = [];
    const layers = await collectContext(
      [
        source("broken", async () => {
          throw new Error("no disk");
        }),
        source("endless", () => new Promise(() => undefined)),
        source("silent", async () => null),
        source("good", async () => "found"),
      ],
      where,
      { signal, budget: 100, time: 20, onProblem: (name, reason) => problems.push(`${name}: ${reason}`) },
    );
    expect(layers).toEqual([{ name: "good", text: "## good\n\nfound" }]);
    expect(problems.toSorted()).toEqual(["broken: no disk", "endless: it took longer than 20 ms"]);
  });

  it("asks all at once, and puts what they give in the order of their priorities (CTX-10)", async () => {
    // Each waits until all three have been asked.
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    let waiting = 3;
    const meets = (name: string, priority: Collector["priority"]): Collector => ({
      ...source(name, async () => {
        waiting -= 1;
        if (waiting === 0) resolve();
        await asked;
        return name;
      }),
      priority,
    });
    const layers = await collectContext([meets("low", 30), meets("critical", 0), meets("high", 10)], where, {
      signal,
      budget: 1000,
      onProblem: (name, reason) => expect.unreachable(`${name}: ${reason}`),
    });
    expect(layers.map(({ name }) => name)).toEqual(["critical", "high", "low"]);
  });

  it("ends with a stop", async () => {
    const stop = new AbortController();
    const collecting = collectContext([source("endless", () => new Promise(() => undefined))], where, {
      signal: stop.signal,
      budget: 100,
      onProblem: () => undefined,
    });
    stop.abort(new Error("stopped"));
    await expect(collecting).rejects.toThrow("stopped");
  });

  it("ends at once with a stop that came before it", async () => {
    const collecting = collectContext([source("endless", () => new Promise(() => undefined))], where, {
      signal: AbortSignal.abort(new Error("stopped before")),
      budget: 100,
      onProblem: () => undefined,
    });
    await expect(collecting).rejects.toThrow("stopped before");
  });
});

describe("the assembler (CTX-14)", () => {
  const lines = (count: number): string =>
    Array.from({ length: count }, (_, index) => `line number ${index}`).join("\n");

  it("keeps to each source what is reserved for it, and gives what is left in order", () => {
    const { items, truncated_count } = assembleContext(
      [
        { source: "diagnostics", content: lines(300), reserved: 500 },
        { source: "circuit", content: lines(300), reserved: 0 },
        { source: "goals", content: "short", reserved: 300 },
      ],
      1500,
    );
    expect(items.map(({ source: name, truncated }) => [name, truncated])).toEqual([
      ["diagnostics", false],
      ["circuit", true],
      ["goals", false],
    ]);
    expect(truncated_count).toBe(1);
  });

  it("always keeps what is reserved for the first", () => {
    const { items } = assembleContext([{ source: "diagnostics", content: lines(50), reserved: 500 }], 0);
    expect(items).toHaveLength(1);
  });

  it("never gives more than the budget, and says what it took", () => {
    const item = fc.record({ source: fc.string(), content: fc.string({ maxLength: 3000 }), reserved: fc.nat(500) });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 6 }), fc.nat(2000), (gathered, budget) => {
        const { items, total_tokens, budget_utilization, truncated_count } = assembleContext(gathered, budget);
        expect(budget_utilization).toBe(budget === 0 ? 0 : total_tokens / budget);
        expect(truncated_count).toBe(gathered.length - items.filter(({ truncated }) => !truncated).length);
        expect(total_tokens).toBeLessThanOrEqual(Math.max(budget, gathered[0]?.reserved ?? 0));
        expect(total_tokens).toBe(items.reduce((sum, { content }) => sum + countText(content), 0));
      }),
    );
  });

  it("cuts in the middle, in whole lines", () => {
    const cut = cutToTokens(lines(300), 100);
    expect(cut).toMatch(/^line number 0\n[^]*\[… \d+ lines left out …\]\n[^]*line number 299$/u);
    expect(countText(cut)).toBeLessThanOrEqual(100);
    expect(cutToTokens(lines(300), 5)).toBe("");
  });

  it("keeps the beginning and the end of a text that is one long line", () => {
    const cut = cutToTokens(`begin${"x".repeat(10_000)}end`, 100);
    expect(cut).toMatch(/^beginx+\n\[… \d+ characters left out …\]\nx+end$/u);
    expect(countText(cut)).toBeLessThanOrEqual(100);
    expect(cutToTokens(`title\n${"x".repeat(10_000)}`, 100)).toMatch(/^title\nx{100,}\n\[/u);
  });

  it("cuts any text to its tokens, from its own beginning to its own end, and no character in half", () => {
    const text = fc
      .array(fc.oneof(fc.string({ unit: "binary", maxLength: 400 }), fc.constant("\n")))
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.integer({ min: 13, max: 300 }), (whole, tokens) => {
        const cut = cutToTokens(whole, tokens);
        expect(countText(cut)).toBeLessThanOrEqual(tokens);
        expect(cut.isWellFormed()).toBe(true);
        const [head = "", tail = ""] = cut.split(/\n?\[… \d+ (?:lines|characters) left out …\]\n?/u);
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
      }),
    );
  });
});
