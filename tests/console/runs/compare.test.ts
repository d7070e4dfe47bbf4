import { describe, expect, it } from "vitest";
import { aligned, pairsOf, placesOf, runNamed, saidIn } from "../../../console/run/compare.ts";
import type { Span } from "../../../console/run/spans.ts";

function spanOf(known: Partial<Span> & Pick<Span, "id" | "kind">): Span {
  return {
    parent: null,
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

/** A run of one node that asks its model and calls tools. */
function runOf(name: string, tools: readonly string[], model = "a"): Map<string, Span> {
  const spans = [
    spanOf({ id: `${name}-run`, kind: "run" }),
    spanOf({ id: `${name}-step`, kind: "step", parent: `${name}-run` }),
    spanOf({ id: `${name}-work`, kind: "node", name: "work", parent: `${name}-step` }),
    spanOf({ id: `${name}-model`, kind: "model", name: model, model, parent: `${name}-work`, node: "work", start: 1 }),
    ...tools.map((tool, index) =>
      spanOf({
        id: `${name}-${tool}`,
        kind: "tool",
        name: tool,
        parent: `${name}-work`,
        node: "work",
        start: 2 + index,
      }),
    ),
  ];
  return new Map(spans.map((span) => [span.id, span]));
}

describe("two runs side by side", () => {
  const differences = (left: Map<string, Span>, right: Map<string, Span>, contents: readonly [string, string][] = []) =>
    pairsOf(placesOf(left), placesOf(right), new Map(contents)).map((pair) => [
      (pair.left ?? pair.right)?.span.name,
      pair.difference,
    ]);

  it("have their nodes and calls at the same places, and what only one has between them", () => {
    const [left, right] = [runOf("l", ["read", "write"]), runOf("r", ["read", "list", "write"])];
    expect(differences(left, right)).toEqual([
      ["work", undefined],
      ["a", undefined],
      ["read", undefined],
      ["list", "right"],
      ["write", undefined],
    ]);
    expect(differences(right, left)[3]).toEqual(["list", "left"]);
    expect(placesOf(left).map(({ depth }) => depth)).toEqual([0, 1, 1, 1]);
  });

  it("differ where a call ended otherwise, was given something else, was another model or said something else", () => {
    const [left, right] = [runOf("l", ["read", "write"]), runOf("r", ["read", "write"])];
    right.set("r-read", { ...spanOf({ id: "r-read", kind: "tool" }), ...right.get("r-read"), status: "error" });
    const of = differences(left, right, [
      ["l-write", "{}"],
      ["r-write", '{"a":1}'],
      ["l-model", "yes"],
      ["r-model", "no"],
    ]);
    expect(of.map(([, difference]) => difference)).toEqual([undefined, "answer", "status", "arguments"]);
    expect(differences(left, runOf("r", ["read", "write"], "b"))[1]).toEqual(["a", "model"]);
  });

  it("are aligned by what both have in the same order, of any length", () => {
    expect(aligned(["a", "b", "c"], ["b", "x", "c"])).toEqual([
      [0, undefined],
      [1, 0],
      [undefined, 1],
      [2, 2],
    ]);
    const many = Array.from({ length: 3_000 }, (_, index) => String(index));
    expect(aligned(many, ["other", ...many])).toHaveLength(6_001);
    expect(aligned(many, many).every(([one, other]) => one === other)).toBe(true);
  });
});

it("an answer is what it says and calls, without ids and numbers", () => {
  const reply = { content: "Hello", id: "1", usage_metadata: { input_tokens: 3 }, tool_calls: [] };
  expect(saidIn(JSON.stringify(reply))).toBe(saidIn(JSON.stringify({ ...reply, id: "2" })));
  expect(saidIn(JSON.stringify(reply))).not.toBe(saidIn(JSON.stringify({ ...reply, content: "Bye" })));
  expect(saidIn('{"content": "cut')).toBe('{"content": "cut');
});

it.each([
  ["thread/run", { threadId: "thread", runId: "run" }],
  ["thread", undefined],
  ["thread/run/more", undefined],
  ["/run", undefined],
  [null, undefined],
])("an address names a run as its thread and itself: %j", (text, run) => {
  expect(runNamed(text)).toEqual(run);
});
