import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import {
  cutEarly,
  earlyLimit,
  roomAfterCut,
  visibleHistory,
} from "../../../src/context/compression/shorter-history.ts";
import { countMessages } from "../../../src/context/tokens/tokens.ts";
import type { ConversationSummary } from "../../../src/state.ts";
import { randomHistory } from "./random-history.ts";

const turnOf = (turn: number): BaseMessage[] => [
  new HumanMessage({ id: `h${turn}`, content: `question ${turn}` }),
  new AIMessage({ id: `a${turn}`, content: `answer ${turn}` }),
];
const talk = (turns: number): BaseMessage[] => Array.from({ length: turns }, (_, turn) => turnOf(turn)).flat();
const idsOf = (messages: readonly BaseMessage[]): (string | undefined)[] => messages.map(({ id }) => id);
const requestsIn = (messages: readonly BaseMessage[]): number =>
  messages.filter((message) => message.getType() === "human").length;

describe("the rounds of a history that are shown (CTX-23)", () => {
  it("are at most 20, and begin at the same request for ten turns", () => {
    const firsts = Array.from({ length: 45 }, (_, at) => {
      const { visible, earlier } = visibleHistory(talk(at + 1), null, 20);
      expect([...earlier, ...visible]).toHaveLength(2 * (at + 1));
      expect(requestsIn(visible)).toBeLessThanOrEqual(20);
      return visible[0]?.id;
    });
    const at = (first: string, times: number): string[] => Array.from({ length: times }, () => first);
    expect(firsts).toEqual([...at("h0", 20), ...at("h10", 10), ...at("h20", 10), ...at("h30", 5)]);
  });

  it.each([
    [1, ["h8", "a8"]],
    [3, ["h6", "a6", "h7", "a7", "h8", "a8"]],
    [9, idsOf(talk(9))],
    [null, idsOf(talk(9))],
  ])("are as many as the run says: %s", (most, shown) => {
    expect(idsOf(visibleHistory(talk(9), null, most).visible)).toEqual(shown);
  });

  it("are counted after a summary, and what a person wanted to be kept stays before them", () => {
    const words = {
      goal: "",
      completed: [],
      todo: [],
      attempted_solutions: [],
      current_problem: "",
      key_decisions: [],
    };
    const summary: ConversationSummary = {
      ...words,
      through_message_id: "a3",
      shown: { level: "normal", kept_message_ids: ["h1", "a1"], last_message_id: "a4", earlier: [], operations: [] },
    };
    const { visible, earlier } = visibleHistory(talk(9), summary, 3);
    expect(idsOf(visible)).toEqual(["h1", "a1", "h6", "a6", "h7", "a7", "h8", "a8"]);
    expect(idsOf(earlier)).toEqual(["h4", "a4", "h5", "a5"]);
  });
});

describe("an early cut (COMP-16)", () => {
  const read = (turn: number, length = 10): BaseMessage[] => [
    new HumanMessage({ id: `h${turn}`, content: "look" }),
    new AIMessage({ id: `c${turn}`, content: "", tool_calls: [{ id: `call${turn}`, name: "read_file", args: {} }] }),
    new ToolMessage({ id: `t${turn}`, tool_call_id: `call${turn}`, content: "x".repeat(length) }),
    new AIMessage({ id: `a${turn}`, content: "seen" }),
  ];

  it.each([
    [1000, 128_000, 10_000],
    [3000, 128_000, 30_000],
    [32_768, 128_000, 30_000],
    [32_768, 20_000, 16_000],
  ])("comes with an answer of %i tokens in a window of %i above %i", (answer, window, tokens) => {
    expect(earlyLimit(answer, window)).toBe(tokens);
  });

  it("leaves a fifth of the limit for the answer", () => {
    expect(roomAfterCut(30_000, 4000)).toBe(20_000);
    expect(roomAfterCut(30_000, 29_000)).toBe(0);
  });

  it("keeps the last ten messages, and a call with its results", () => {
    const history = [...talk(8), ...read(8).slice(0, 3), ...talk(13).slice(-9)];
    const { shown, left } = cutEarly(history, 0);
    expect(idsOf(shown)).toEqual(["c8", "t8", ...idsOf(talk(13).slice(-9))]);
    expect([...left, ...shown]).toEqual(history);
  });

  it("keeps older rounds with results of tools or attachments while there is room, the newest first", () => {
    const attached = turnOf(3);
    attached[0] = new HumanMessage({
      id: "h3",
      content: [
        { type: "text", text: "this" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
      ],
    });
    const noted = new HumanMessage({
      id: "h4",
      content: "that",
      additional_kwargs: { attachments: [{ path: "a.png" }] },
    });
    const history = [
      ...read(0),
      ...turnOf(1),
      ...read(2, 4000),
      ...attached,
      noted,
      ...turnOf(5),
      ...talk(15).slice(-10),
    ];
    const last = idsOf(history.slice(-10));
    const all = cutEarly(history, Infinity);
    expect(idsOf(all.shown)).toEqual(["h0", "c0", "t0", "a0", "h2", "c2", "t2", "a2", "h3", "a3", "h4", ...last]);
    const tokens = countMessages(all.shown);
    const less = cutEarly(history, tokens - 1);
    expect(idsOf(less.shown)).toEqual(["h2", "c2", "t2", "a2", "h3", "a3", "h4", ...last]);
    const small = cutEarly(history, countMessages(less.shown) - 1);
    expect(idsOf(small.shown)).toEqual(["h0", "c0", "t0", "a0", "h3", "a3", "h4", ...last]);
  });

  it("leaves any history valid and in its order, with the request, within the room beyond the last ten", () => {
    fc.assert(
      fc.property(randomHistory, fc.nat(5000), (random, room) => {
        const history = repairToolPairs(random);
        const { shown } = cutEarly(history, room);
        expect(repairToolPairs(shown)).toEqual(shown);
        expect(history.filter((message) => shown.includes(message))).toEqual(shown);
        const request = history.findLast((message) => message.getType() === "human");
        if (request !== undefined) expect(shown).toContain(request);
        for (const message of history.slice(-10)) expect(shown).toContain(message);
        expect(countMessages(shown)).toBeLessThanOrEqual(Math.max(room, countMessages(cutEarly(history, 0).shown)));
      }),
      { numRuns: 500 },
    );
  });
});
