import { AIMessage, HumanMessage, isHumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitView, applyReduction, stepOf, type ViewParts } from "../../src/context/overflow.ts";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import { countMessages } from "../../src/context/tokens/tokens.ts";
import { strictProblems } from "../loop/model-call/strict-provider.ts";
import { randomHistory } from "./history/random-history.ts";
import { toWire } from "./history/random-messages.ts";

const parts = (changes: Partial<ViewParts>): ViewParts => ({
  history: [],
  turn: [],
  core: 100,
  optional: 0,
  limit: 2000,
  ...changes,
});
const shownOf = (view: ViewParts): BaseMessage[] => {
  const { form, first } = fitView(view);
  const { history, turn } = applyReduction(form, { history: view.history, first, turn: view.turn });
  return [...history, ...turn];
};
const stepFor = (view: ViewParts): string => {
  const { form } = fitView(view);
  return form === undefined ? "all" : stepOf(form);
};
/** Rounds of one call each, with results of so many characters. */
const rounds = (...sizes: number[]): BaseMessage[] =>
  sizes.flatMap((size, at) => [
    new AIMessage({
      id: `a${at}`,
      content: "",
      tool_calls: [{ id: `c${at}`, name: "read_file", args: { path: "a" } }],
    }),
    new ToolMessage({
      id: `r${at}`,
      tool_call_id: `c${at}`,
      name: "read_file",
      content: `begin ${"x".repeat(size)} end`,
    }),
  ]);
const userMessage = (id: string, size: number): BaseMessage =>
  new HumanMessage({ id, content: `${id} ${"w".repeat(size)}` });
const replied = (id: string, size: number): BaseMessage => new AIMessage({ id, content: `${id} ${"w".repeat(size)}` });

describe("a view that is too long", () => {
  it("is valid, has the request word for word and fits, for any history and turn", () => {
    fc.assert(
      fc.property(
        randomHistory,
        fc.nat({ max: 40 }),
        fc.integer({ min: 500, max: 6000 }),
        fc.nat({ max: 800 }),
        fc.constantFrom(0, 10),
        (all, split, limit, optional, eachTokens) => {
          const request = all.findLastIndex((message) => isHumanMessage(message));
          // What a step of a plan has in its history, or what came in this very turn.
          const end = Math.min(all.length, request + 1 + split);
          const history = repairToolPairs(all.slice(0, end));
          const turn = repairToolPairs(all.slice(end));
          const before = JSON.stringify([history, turn]);
          const view = parts({ history, turn, optional, eachTokens, limit });
          const { form, first, tokens } = fitView(view);
          const shown = applyReduction(form, { history, first, turn });
          const messages = [...shown.history, ...shown.turn];
          expect(strictProblems(toWire(messages))).toEqual([]);
          expect(messages).toContain(all[request]);
          const weight = countMessages(messages) + messages.length * eachTokens;
          const hasOptional = form === undefined || stepOf(form) === "history";
          expect(tokens).toBe(weight + 100 + (hasOptional ? optional : 0));
          if (tokens > limit * 0.9) expect(form === undefined ? "all" : stepOf(form)).toBe("extreme");
          // Only the user's own words, and calls that are shown by their names only, can keep it above.
          if (history.at(-1) === all[request] && turn.length === 0) {
            const least = 100 + countMessages(all.slice(request, request + 1)) + eachTokens;
            expect(tokens).toBeLessThanOrEqual(Math.max(limit * 0.9, least));
          }
          expect(JSON.stringify([history, turn])).toBe(before);
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each([
    ["all of it where there is room", { history: [userMessage("h", 100)], turn: rounds(100) }, "all"],
    [
      "no old turns",
      { history: [userMessage("old", 5000), replied("reply", 3000), userMessage("h", 100)], turn: rounds(500) },
      "history",
    ],
    [
      "no data in the system text",
      { history: [userMessage("old", 100), replied("reply", 100), userMessage("h", 100)], optional: 1900 },
      "system_text",
    ],
    ["texts of this turn cut", { history: [userMessage("h", 100)], turn: rounds(5000, 5000, 500) }, "turn"],
    [
      "only the last round and the request",
      { history: [userMessage("h", 100)], turn: rounds(...Array<number>(60).fill(800)) },
      "extreme",
    ],
  ])("shows %s", (_, changes, step) => {
    const view = parts(changes);
    expect(stepFor(view)).toBe(step);
    expect(fitView(view).tokens).toBeLessThanOrEqual(1800);
  });

  it("has the newest results whole as long as it can, and the beginning and the end of the others", () => {
    const [, first, , second, , newest] = shownOf(
      parts({ history: [userMessage("h", 10)], turn: rounds(4000, 4000, 3000) }),
    ).slice(1);
    expect(first?.text).toMatch(/^begin x+\n\[… \d+ characters left out …\]\nx+ end$/u);
    expect(second?.text.length).toBeLessThan(1100);
    expect(newest?.text).toHaveLength(3010);
  });

  it("has the last reply, cut, where the turn before the request has no room", () => {
    const history = [userMessage("old", 10), ...rounds(10), replied("reply", 9000), userMessage("h", 3000)];
    const view = parts({ history, core: 200 });
    expect(stepFor(view)).toBe("history");
    const [reply, request] = shownOf(view);
    expect(reply?.text).toMatch(/^reply w+\n\[… \d+ characters left out …\]\nw+$/u);
    expect(request).toBe(history.at(-1));
    const withData = parts({ history, core: 200, optional: 2500 });
    expect(stepFor(withData)).toBe("extreme");
    expect(shownOf(withData).map(({ id }) => id)).toEqual(["reply", "h"]);
    const full = parts({ history, core: 1000 });
    expect(shownOf(full).map(({ id }) => id)).toEqual(["h"]);
  });

  it("says what was done since the request and is not shown", () => {
    const turn = rounds(...Array<number>(60).fill(800));
    const { form, first } = fitView(parts({ history: [userMessage("h", 100)], turn }));
    const { left, turn: shown } = applyReduction(form, { history: [userMessage("h", 100)], first, turn });
    expect(left).toEqual(turn.slice(0, -2));
    expect(shown.map(({ id }) => id)).toEqual(["a59", "r59"]);
  });
});
