import { describe, expect, it, vi } from "vitest";
import { searchHits, searchHitsWithin } from "../collectors/search-hits.ts";
import { extractKeywords, searchTerms } from "../collectors/keywords.ts";
import { countText } from "../../../src/context/tokens/tokens.ts";

describe("the keywords of a request (CIRC-06)", () => {
  it("are classified by what they name", () => {
    const request =
      "Why is the gain of sub-circuit stage in lib/amp.cir low when R12 and Q3 pull net_out to GND, see my_value?";
    expect(extractKeywords(request)).toEqual({
      devices: ["R12", "Q3"],
      subcircuits: ["stage"],
      files: ["lib/amp.cir"],
      metrics: ["gain"],
      nodes: ["net_out", "GND"],
      others: ["my_value"],
      semantic_query: "sub circuit low pull see",
    });
  });

  it.each([
    ["R1 C2 L3 Q4 M5 D6 V7 I8 X9", "devices", ["R1", "C2", "L3", "Q4", "M5", "D6", "V7", "I8", "X9"]],
    ["Vcc and VDD and VOUT", "nodes", ["Vcc", "VDD", "VOUT"]],
    ["GND, net_in, n_bias, BIAS2", "nodes", ["GND", "net_in", "n_bias", "BIAS2"]],
    ["a.cir b.sp c.inc d.lib e.spice", "files", ["a.cir", "b.sp", "c.inc", "d.lib", "e.spice"]],
    ["the slew, CMRR, psrr and gbw", "metrics", ["slew", "CMRR", "psrr", "gbw"]],
    ["gain, bandwidth, phase margin, impedance", "metrics", ["gain", "bandwidth", "phase", "margin", "impedance"]],
    ["R1 R1 R1", "devices", ["R1"]],
    ["把 R1 改成 10k", "devices", ["R1"]],
    ["node 0", "nodes", ["0"]],
    ["x".repeat(100_000), "others", []],
  ] as const)("of %s: %s %o", (request, kind, names) => {
    expect(extractKeywords(request)[kind]).toEqual(names);
  });

  it("are searched for devices first and words of circuits last; what stands everywhere is not", () => {
    expect(searchTerms(extractKeywords("gain at 0 and OUT of my_net in a.cir by X2"))).toEqual([
      "X2",
      "a.cir",
      "gain",
      "OUT",
      "my_net",
    ]);
  });
});

describe("what is found of them (CTX-12)", () => {
  const nothing = { sim_result: null, design_goals: null, error: null, metrics: null, now: 0 };
  const where = { workspace: "/", circuit_file: "amp.cir", ...nothing };
  const { signal } = new AbortController();
  const warn = (): never => expect.unreachable();

  it("is ten lines at most, by the order of the names, without those of the circuit itself", async () => {
    const notes = Array.from({ length: 12 }, (_, index) => ({ path: "notes.md", line: index + 1, text: "the gain" }));
    const search = async () => [
      ...notes,
      { path: "b.cir", line: 3, text: "r7 a b 1k" },
      { path: "amp.cir", line: 2, text: "R7 x y 1k" },
    ];
    const text = await searchHits.collect({ ...where, request: "gain and R7", search }, signal, warn);
    expect(text?.split("\n")).toHaveLength(10);
    expect(text?.startsWith("b.cir:3: r7 a b 1k\nnotes.md:1: the gain\n")).toBe(true);
    expect(text).not.toContain("amp.cir");
  });

  it("takes 2,000 tokens at most", async () => {
    const search = async () =>
      Array.from({ length: 10 }, (_, index) => ({
        path: `${index}.md`,
        line: 1,
        text: `gain ${"word ".repeat(1000)}`,
      }));
    const text = await searchHits.collect({ ...where, request: "the gain", search }, signal, warn);
    expect(countText(text ?? "")).toBeLessThanOrEqual(2000);
    expect(countText(text ?? "")).toBeGreaterThan(1900);
  });

  it("is empty without a search, and if the request names nothing", async () => {
    const search = (): never => expect.unreachable();
    expect(await searchHits.collect({ ...where, request: "gain" }, signal, warn)).toBeNull();
    expect(await searchHits.collect({ ...where, request: "hello there", search }, signal, warn)).toBeNull();
  });

  it("is empty without a warning if the search takes too long; other failures are reported", async () => {
    const endless = (_: readonly string[], ends: AbortSignal): Promise<never> =>
      new Promise((__, reject) => {
        ends.addEventListener("abort", () => reject(ends.reason), { once: true });
      });
    const hurried = searchHitsWithin(5);
    expect(await hurried.collect({ ...where, request: "gain", search: endless }, signal, warn)).toBeNull();
    const stop = new AbortController();
    const times = vi.spyOn(AbortSignal, "timeout");
    const stopped = searchHits.collect({ ...where, request: "gain", search: endless }, stop.signal, warn);
    const limits = times.mock.calls;
    times.mockRestore();
    stop.abort(new Error("stopped"));
    await expect(stopped).rejects.toThrow("stopped");
    expect(limits).toEqual([[500]]);
    const broken = async (): Promise<never> => {
      throw new Error("no disk");
    };
    await expect(searchHits.collect({ ...where, request: "gain", search: broken }, signal, warn)).rejects.toThrow(
      "no disk",
    );
  });
});
