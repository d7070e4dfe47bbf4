import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { criticalPath, modelCallNumbers, usedBy } from "../../../console/run/critical-path.ts";
import { folded, isLarge, placed, subgraphsOf } from "../../../console/run/graph-layout.ts";
import {
  nodePath,
  nodeStates,
  placeOf,
  rowsOfTree,
  timeline,
  timeMarks,
  usageBy,
  type Span,
} from "../../../console/run/spans.ts";
import { changesOf, diffOf } from "../../../console/run/state-diff.ts";

function spanOf(known: Partial<Span> & Pick<Span, "id">): Span {
  return {
    parent: null,
    kind: "node",
    name: known.id,
    node: null,
    namespace: [],
    checkpoint_id: null,
    start: 0,
    first_token: null,
    end: 1,
    status: "success",
    usage: null,
    cost: null,
    model: null,
    error: null,
    model_call_id: null,
    tool_call_id: null,
    payloads: { input: false, output: false },
    ...known,
  };
}
const mapOf = (spans: readonly Span[]) => new Map(spans.map((span) => [span.id, span]));

describe("what a run waited for", () => {
  const spans = mapOf([
    spanOf({ id: "run", kind: "run", start: 0, end: 100 }),
    spanOf({ id: "first", parent: "run", start: 0, end: 30 }),
    spanOf({ id: "short", parent: "run", start: 30, end: 60 }),
    spanOf({ id: "long", parent: "run", start: 30, end: 90 }),
    spanOf({ id: "inside", parent: "long", kind: "model", start: 40, end: 80 }),
    spanOf({ id: "beside", parent: "long", kind: "tool", start: 40, end: 50 }),
    spanOf({ id: "again", parent: "long", kind: "retry", start: 85, end: 85 }),
    spanOf({ id: "never begun", parent: "run", start: null, end: null }),
  ]);

  it("is of what went on at once what ended last, and the same within it", () => {
    expect([...criticalPath(spans, 100)].toSorted()).toEqual(["first", "inside", "long", "run"]);
  });

  it("goes on to now in a run that works", () => {
    const open = mapOf([
      spanOf({ id: "run", kind: "run", end: null }),
      spanOf({ id: "done", parent: "run", start: 0, end: 50 }),
      spanOf({ id: "open", parent: "run", start: 20, end: null }),
    ]);
    expect([...criticalPath(open, 60)].toSorted()).toEqual(["open", "run"]);
  });

  it("is counted for each part with all that lies in it", () => {
    const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 0 };
    const used = usedBy(
      mapOf([
        spanOf({ id: "run", kind: "run", usage, cost: 7 }),
        spanOf({ id: "node", parent: "run" }),
        spanOf({ id: "one", parent: "node", kind: "model", usage, cost: 1 }),
        spanOf({ id: "two", parent: "run", kind: "model", usage }),
        spanOf({ id: "tool", parent: "node", kind: "tool" }),
      ]),
    );
    expect(Object.fromEntries(used)).toEqual({
      run: { tokens: 30, cost: 1 },
      node: { tokens: 15, cost: 1 },
      one: { tokens: 15, cost: 1 },
      two: { tokens: 15, cost: null },
    });
  });
});

describe("the parts of a run as rows", () => {
  const run = spanOf({ id: "run", kind: "run", end: 10 });
  const spans = mapOf([
    spanOf({ id: "b", parent: "run", start: 5 }),
    run,
    spanOf({ id: "a", parent: "run", start: 1 }),
    spanOf({ id: "call", parent: "a", kind: "tool", start: 2 }),
    spanOf({ id: "lost", parent: "gone", start: 3 }),
    spanOf({ id: "self", parent: "self", start: 4 }),
  ]);

  it("stand below their parents in the order in which they began; one without a parent is not lost", () => {
    const rows = rowsOfTree(spans, () => false).map(({ span, depth }) => [span.id, depth]);
    expect(rows).toEqual([
      ["run", 0],
      ["a", 1],
      ["call", 2],
      ["b", 1],
      ["lost", 0],
      ["self", 0],
    ]);
  });

  it("hide what is closed, and move up where a level is left out", () => {
    expect(rowsOfTree(spans, (id) => id === "run").map(({ span }) => span.id)).toEqual(["run", "lost", "self"]);
    const tools = rowsOfTree(
      spans,
      () => false,
      ({ kind }) => kind === "tool" || kind === "run",
    );
    expect(tools.map(({ span, depth }) => [span.id, depth])).toEqual([
      ["run", 0],
      ["call", 1],
    ]);
  });

  it("know the node that made a call by its path, also where the run does not say", () => {
    const parts = mapOf([
      run,
      spanOf({ id: "free_work", parent: "run" }),
      spanOf({ id: "call_model", parent: "free_work" }),
      spanOf({ id: "self", kind: "model", parent: "self" }),
    ]);
    const path = (known: Partial<Span>): string => nodePath(spanOf({ id: "reply", kind: "model", ...known }), parts);
    expect(path({ parent: "call_model", node: "call_model" })).toBe("free_work:call_model");
    expect(path({ parent: "free_work", node: "call_model" })).toBe("free_work:call_model");
    expect(path({ parent: "run" })).toBe("reply");
    expect(path({ parent: "self" })).toBe("reply");
  });

  it("are as deep as a run is, and as many", () => {
    const deep = mapOf(
      Array.from({ length: 30_000 }, (_, index) =>
        spanOf({ id: String(index), parent: index === 0 ? null : String(index - 1), start: index }),
      ),
    );
    expect(rowsOfTree(deep, () => false).at(-1)?.depth).toBe(29_999);
  });

  it("say how the nodes of the drawing stand", () => {
    const states = nodeStates([
      spanOf({ id: "1", name: "step", start: 0, end: 5 }),
      spanOf({ id: "2", name: "step", start: 5, end: null, status: "running" }),
      spanOf({ id: "3", name: "leaf", namespace: ["middle:uuid"], status: "error" }),
    ]);
    expect(states.get("step")).toMatchObject({ status: "running", times: 2, milliseconds: 5, span: "2" });
    expect(states.get("middle:leaf")).toMatchObject({ status: "failed", times: 1 });
  });

  it("add up what the models used", () => {
    const usage = { input_tokens: 10, output_tokens: 2, cached_tokens: 4 };
    const call = spanOf({ id: "1", kind: "model", model: "m", usage, cost: 0.5, end: 3 });
    expect(usageBy([call, { ...call, id: "2", cost: null }, run], ({ model }) => model ?? "")).toEqual([
      { name: "m", calls: 2, input: 20, output: 4, cached: 8, cost: 0.5, milliseconds: 6 },
    ]);
    // Unknown is not zero.
    expect(usageBy([{ ...call, start: null }], () => "m")).toMatchObject([{ calls: 1, milliseconds: null }]);
  });

  it("number the model calls as they began, where there are several", () => {
    const calls = [
      spanOf({ id: "late", kind: "model", start: 5, end: 6 }),
      spanOf({ id: "tool", kind: "tool", start: 2, end: 3 }),
      spanOf({ id: "early", kind: "model", start: null, end: 2 }),
    ];
    expect([...modelCallNumbers(mapOf(calls))]).toEqual([
      ["early", 1],
      ["late", 2],
    ]);
    expect(modelCallNumbers(mapOf(calls.slice(0, 2))).size).toBe(0);
    // One whose beginning is not known stands where it ended.
    expect(rowsOfTree(mapOf(calls), () => false).map(({ span }) => span.id)).toEqual(["early", "tool", "late"]);
  });
});

describe("the time of a run", () => {
  it("is drawn narrow where nothing happened, and whole without that", () => {
    const spans = [spanOf({ id: "a", start: 0, end: 1_000 }), spanOf({ id: "b", start: 61_000, end: 62_000 })];
    const squeezed = timeline(spans, 0, true);
    expect(squeezed.map(({ isIdle }) => isIdle)).toEqual([false, true, false]);
    expect(placeOf(squeezed, 1_000)).toBeCloseTo(0.49, 1);
    expect(timeline(spans, 0, false)).toHaveLength(1);
  });

  it("keeps the order of moments, from 0 to 1, whatever the spans are", () => {
    const times = fc.tuple(fc.nat(200_000), fc.option(fc.nat(20_000)));
    fc.assert(
      fc.property(fc.array(times, { minLength: 1, maxLength: 30 }), fc.boolean(), (list, squeezes) => {
        const spans = list.map(([start, took], index) =>
          spanOf({ id: String(index), start, end: took === null ? null : start + took }),
        );
        const stretches = timeline(spans, 250_000, squeezes);
        const moments = list.map(([start]) => start).toSorted((one, other) => one - other);
        const places = moments.map((moment) => placeOf(stretches, moment));
        expect(places).toEqual(places.toSorted((one, other) => one - other));
        expect(places.every((place) => place >= 0 && place <= 1)).toBe(true);
        const width = stretches.reduce((sum, stretch) => sum + stretch.width, 0);
        expect(width).toBeCloseTo(1, 5);
      }),
    );
  });
});

describe("the times above the bars", () => {
  it("are round", () => {
    const marks = timeMarks(timeline([spanOf({ id: "a", start: 5_000, end: 5_615 })], 0, true), 0, 1);
    expect(marks.map(({ milliseconds }) => milliseconds)).toEqual([0, 200, 400]);
    const closer = timeMarks(timeline([spanOf({ id: "a", start: 0, end: 10_000 })], 0, true), 0.5, 10);
    expect(closer.map(({ milliseconds }) => milliseconds)).toEqual([5_000, 5_200, 5_400, 5_600, 5_800]);
    expect(closer.map(({ at }) => at.toFixed(2))).toEqual(["0.00", "0.20", "0.40", "0.60", "0.80"]);
  });

  it("stand apart, in order and within what is seen, at any zoom", () => {
    const times = fc.tuple(fc.nat(200_000), fc.nat(20_000));
    const view = fc.tuple(fc.double({ min: 1, max: 5_000, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(fc.array(times, { minLength: 1, maxLength: 30 }), view, (list, [zoom, share]) => {
        const spans = list.map(([start, took], index) => spanOf({ id: String(index), start, end: start + took }));
        const stretches = timeline(spans, 0, true);
        const from = share * (1 - 1 / zoom);
        const marks = timeMarks(stretches, from, zoom);
        expect(marks.length).toBeLessThan(10);
        for (const [index, { at, milliseconds }] of marks.entries()) {
          expect(at).toBeGreaterThanOrEqual(-1e-6);
          expect(at).toBeLessThan(1);
          expect(at).toBeCloseTo((placeOf(stretches, (stretches[0]?.from ?? 0) + milliseconds) - from) * zoom, 6);
          if (index > 0) expect(at - (marks[index - 1]?.at ?? 0)).toBeGreaterThan(0.1);
        }
      }),
    );
  });
});

describe("what changed between two states", () => {
  it("is listed by channel", () => {
    const changes = changesOf({ same: 1, gone: 2, text: { a: 1, b: 2 } }, { same: 1, text: { a: 1, b: 3 }, come: [] });
    expect(changes.map(({ name, kind }) => [name, kind])).toEqual([
      ["same", "same"],
      ["text", "changed"],
      ["come", "added"],
      ["gone", "removed"],
    ]);
    const lines = changes[1]?.lines.map(({ kind, text }) => `${kind} ${text.trim()}`);
    expect(lines).toContain('removed "b": 2');
    expect(lines).toContain('added "b": 3');
  });

  it("is lines that make the one text of the other", () => {
    const texts = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
    fc.assert(
      fc.property(texts, texts, (from, to) => {
        const lines = diffOf(from, to);
        for (const line of lines) {
          if (line.old_line !== null) expect(from[line.old_line - 1]).toBe(line.text);
          if (line.new_line !== null) expect(to[line.new_line - 1]).toBe(line.text);
        }
        const removed = lines.filter(({ kind }) => kind === "removed").length;
        const added = lines.filter(({ kind }) => kind === "added").length;
        expect(added - removed).toBe(to.length - from.length);
      }),
    );
  });
});

describe("the drawing of a graph", () => {
  it("has a frame around each subgraph, and nothing on top of something else", () => {
    const names = ["__start__", "before", "middle:enter", "middle:leaf:one", "middle:leaf:two", "__end__"];
    const nodes = names.map((id) => ({ id, name: id, type: "runnable", interrupt: undefined }));
    const edges = names.slice(1).map((target, index) => ({
      source: names[index] ?? "",
      target,
      label: undefined,
      conditional: false,
    }));
    const boxes = placed({ nodes, edges });
    expect(boxes.flatMap(({ isFrame, id }) => (isFrame ? id : [])).toSorted()).toEqual(["middle", "middle:leaf"]);
    for (const box of boxes) {
      const around = boxes.find(({ id }) => id === box.parent);
      expect(box.x >= 0 && box.y >= 0, box.id).toBe(true);
      if (around === undefined) continue;
      expect(box.x + box.width <= around.width && box.y + box.height <= around.height, box.id).toBe(true);
    }
    const overlap = boxes.some((one) =>
      boxes.some(
        (other) =>
          one.id < other.id &&
          one.parent === other.parent &&
          one.x < other.x + other.width &&
          other.x < one.x + one.width &&
          one.y < other.y + other.height &&
          other.y < one.y + one.height,
      ),
    );
    expect(overlap).toBe(false);
  });

  it("crosses no edges of a large tree, and untangles a large graph that is none", () => {
    const crossings = (names: readonly string[], pairs: readonly (readonly [string, string])[]): number => {
      const nodes = names.map((id) => ({ id, name: id, type: "runnable", interrupt: undefined }));
      const edges = pairs.map(([source, target]) => ({ source, target, label: undefined, conditional: false }));
      const boxes = new Map(placed({ nodes, edges }).map((box) => [box.id, box]));
      const ends = pairs.map(([source, target]) => {
        const [from, to] = [boxes.get(source), boxes.get(target)];
        return { rank: from?.y ?? 0, from: from?.x ?? 0, to: to?.x ?? 0 };
      });
      return ends.flatMap((one, at) =>
        ends.slice(0, at).filter(({ rank, from, to }) => rank === one.rank && (one.from - from) * (one.to - to) < 0),
      ).length;
    };
    const all = Array.from({ length: 300 }, (_, index) => index);
    const branches = all.slice(1).map((index) => [`n${Math.floor((index - 1) / 2)}`, `n${index}`] as const);
    const tree = all.map((index) => `n${index}`);
    expect(crossings(tree, branches)).toBe(0);
    // A zigzag, of which the names come in no order.
    const half = all.slice(0, 35);
    const zigzag = half
      .flatMap((at) => [[`a${at}`, `b${at}`] as const, [`a${at}`, `b${at + 1}`] as const])
      .slice(0, -1);
    const mixed = [...half.map((at) => `a${(at * 37) % 35}`), ...half.map((at) => `b${(at * 11) % 35}`)];
    expect(crossings(mixed, zigzag)).toBe(0);
  });

  it("has each subgraph as one node until it is opened", () => {
    const names = ["__start__", "a:one", "a:b:two", "a:b:three", "c", "__end__"];
    const nodes = names.map((id) => ({ id, name: id, type: "runnable", interrupt: undefined }));
    const edges = names.slice(1).map((target, index) => ({
      source: names[index] ?? "",
      target,
      label: undefined,
      conditional: false,
    }));
    const shown = (...open: string[]): string[] => {
      const drawing = folded({ nodes, edges }, new Set(open));
      return drawing.edges.map(({ source, target }) => `${source} ${target}`);
    };
    expect([...subgraphsOf({ nodes, edges })]).toEqual(["a", "a:b"]);
    expect(shown()).toEqual(["__start__ a", "a c", "c __end__"]);
    expect(shown("a")).toEqual(["__start__ a:one", "a:one a:b", "a:b c", "c __end__"]);
    expect(shown("a", "a:b")).toEqual(edges.map(({ source, target }) => `${source} ${target}`));
    expect(isLarge({ nodes, edges })).toBe(false);
  });
});
