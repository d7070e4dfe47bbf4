import {
  AIMessage,
  HumanMessage,
  isAIMessage,
  isHumanMessage,
  isToolMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { prune } from "../../../src/context/pruning/prune.ts";
import { safeZoneTokens } from "../../../src/context/pruning/safe-zone.ts";
import { countMessages } from "../../../src/context/tokens/tokens.ts";
import { LoopLimits } from "../../../src/state.ts";
import { strictProblems } from "../../loop/model-call/strict-provider.ts";
import { randomMessages, toWire } from "./random-messages.ts";

/** `HISTORIES=10000 vitest run tests/context/history/prune.test.ts` is the long form. */
const runs = Number(process.env["HISTORIES"] ?? 1500);

const cleared = "Content cleared.";
const textFor = (): string => cleared;
const none = (): boolean => false;
const present = (messages: readonly (BaseMessage | undefined)[]): BaseMessage[] =>
  messages.filter((message) => message !== undefined);
const read = (index: number, result: string): BaseMessage[] => [
  new AIMessage({
    id: `ai-${index}`,
    content: "",
    tool_calls: [{ id: `call-${index}`, name: "read_file", args: { path: "a" }, type: "tool_call" }],
  }),
  new ToolMessage({ id: `tool-${index}`, name: "read_file", tool_call_id: `call-${index}`, content: result }),
];

describe("leaving out marked messages", () => {
  const history = [new HumanMessage({ id: "first", content: "Read" }), ...read(1, "one"), ...read(2, "two")];
  const idsWithout = (...marked: string[]): unknown[] => {
    const isMarked = ({ id }: BaseMessage): boolean => marked.includes(id ?? "");
    return prune(history, { isMarked, maxTokens: Infinity, textFor }).messages.map((message) => message?.id);
  };

  it("takes the results with their reply, and the reply with the last of its results", () => {
    expect(idsWithout("ai-1")).toEqual(["first", undefined, undefined, "ai-2", "tool-2"]);
    expect(idsWithout("tool-1")).toEqual(["first", undefined, undefined, "ai-2", "tool-2"]);
    expect(idsWithout("first", "unknown")).toEqual([undefined, "ai-1", "tool-1", "ai-2", "tool-2"]);
  });

  it("keeps what a reply says beside the call, and its other calls", () => {
    const reply = new AIMessage({
      id: "ai",
      content: "Two files.",
      additional_kwargs: {
        tool_calls: [{ id: "a", type: "function", function: { name: "read_file", arguments: "{}" } }],
      },
      tool_calls: ["a", "b"].map((id) => ({ id, name: "read_file", args: {}, type: "tool_call" as const })),
    });
    const results = ["a", "b"].map((id) => new ToolMessage({ id: `result-${id}`, tool_call_id: id, content: id }));
    const without = (...marked: string[]): BaseMessage[] =>
      present(
        prune([reply, ...results], { isMarked: ({ id }) => marked.includes(id ?? ""), maxTokens: Infinity, textFor })
          .messages,
      );
    const [kept, ...rest] = without("result-a");
    expect(kept).toMatchObject({ content: "Two files.", tool_calls: [{ id: "b" }] });
    expect(rest).toEqual([results[1]]);
    const [alone, ...nothing] = without("result-a", "result-b");
    expect(alone).toMatchObject({ content: "Two files.", tool_calls: [], additional_kwargs: {} });
    expect(nothing).toEqual([]);
    expect(reply.tool_calls).toHaveLength(2);
  });
});

describe("clearing tool results", () => {
  const long = "x".repeat(4000);
  const calls = (count: number): BaseMessage[] => [
    new HumanMessage({ id: "h", content: "Go" }),
    ...Array.from({ length: count }, (_, index) => read(index, long)).flat(),
  ];
  const results = (messages: readonly (BaseMessage | undefined)[]): string[] =>
    present(messages)
      .filter((message) => isToolMessage(message))
      .map(({ text }) => (text === cleared ? "cleared" : "whole"));

  it("clears the oldest first and stops when the rest fits", () => {
    const messages = calls(12);
    const pruned = prune(messages, { isMarked: none, maxTokens: countMessages(messages) - 1500, textFor });
    expect(results(pruned.messages)).toEqual(["cleared", "cleared", ...Array.from({ length: 10 }, () => "whole")]);
    expect(pruned.cleared).toBe(2);
    expect(messages[2]?.text).toBe(long);
  });

  it("keeps the envelope of what it clears", () => {
    const envelope = { id: "tool-0", name: "read_file", tool_call_id: "call-0", status: "error" as const };
    const additional_kwargs = { success: false, code: "CONFLICT" };
    const messages = calls(12);
    messages[2] = new ToolMessage({ ...envelope, content: long, additional_kwargs });
    const { messages: left } = prune(messages, { isMarked: none, maxTokens: 0, textFor });
    expect(left[2]).toMatchObject({ ...envelope, content: cleared, additional_kwargs });
  });

  it("leaves six alone that could be cleared, however full the view is", () => {
    expect(results(prune(calls(12), { isMarked: none, maxTokens: 0, textFor }).messages)).toEqual([
      ...Array.from({ length: 6 }, () => "cleared"),
      ...Array.from({ length: 6 }, () => "whole"),
    ]);
    expect(prune(calls(6), { isMarked: none, maxTokens: 0, textFor }).cleared).toBe(0);
  });

  it("never clears the last six messages, though there are older ones that may be cleared (C-15)", () => {
    const write = (index: number): BaseMessage[] => [
      new AIMessage({
        id: `w-${index}`,
        content: "",
        tool_calls: [{ id: `w-${index}`, name: "create_file", args: { content: long }, type: "tool_call" as const }],
      }),
      new ToolMessage({ id: `done-${index}`, name: "create_file", tool_call_id: `w-${index}`, content: "Done." }),
    ];
    const messages = [...Array.from({ length: 7 }, (_, index) => write(index)).flat(), ...calls(3).slice(1)];
    const { messages: left, cleared: count } = prune(messages, { isMarked: none, maxTokens: 0, textFor });
    expect(left.slice(-6)).toEqual(messages.slice(-6));
    expect(count).toBe(4);
  });

  it("cuts long arguments only when all results that may be cleared are", () => {
    const write = (index: number): BaseMessage[] => [
      new AIMessage({
        id: `ai-${index}`,
        content: "",
        tool_calls: [
          { id: `w-${index}`, name: "create_file", args: { path: "a", content: long }, type: "tool_call" as const },
        ],
      }),
      new ToolMessage({ id: `t-${index}`, name: "create_file", tool_call_id: `w-${index}`, content: "Created." }),
    ];
    const messages = [...calls(1), ...Array.from({ length: 9 }, (_, index) => write(index)).flat()];
    const { messages: left, cleared: count } = prune(messages, { isMarked: none, maxTokens: 0, textFor });
    expect(count).toBe(4);
    expect(results(left)[0]).toBe("cleared");
    const lengths = present(left)
      .filter((message) => isAIMessage(message))
      .map((message) => String(message.tool_calls?.[0]?.args["content"] ?? "").length);
    expect(lengths).toEqual([0, 500, 500, 500, ...Array.from({ length: 6 }, () => 4000)]);
  });
});

describe("pruning any history", () => {
  const scenario = fc.record({
    messages: randomMessages,
    marks: fc.infiniteStream(fc.boolean()),
    maxTokens: fc.integer({ min: 0, max: 8000 }),
  });

  it("keeps every rule", () => {
    fc.assert(
      fc.property(scenario, ({ messages, marks, maxTokens }) => {
        const request = messages.findLast((message) => isHumanMessage(message));
        const chosen = messages.filter((message) => marks.next().value === true && message !== request);
        const marked = new Set(chosen.map(({ id }) => id));
        const before = JSON.stringify(toWire(messages));
        const isMarked = ({ id }: BaseMessage): boolean => marked.has(id);
        const once = prune(messages, { isMarked, maxTokens, textFor });
        const left = present(once.messages);

        // Valid for a strict provider, pairs whole.
        expect(strictProblems(toWire(left))).toEqual([]);
        // Nothing that was marked is left; the request is, word for word.
        expect(left.filter(isMarked)).toEqual([]);
        expect(left).toContain(request);
        // The given messages are as they were.
        expect(JSON.stringify(toWire(messages))).toBe(before);
        // Twice changes nothing, and the same comes to the same.
        const twice = prune(left, { isMarked, maxTokens, textFor });
        expect(toWire(present(twice.messages))).toEqual(toWire(left));
        expect(twice.cleared).toBe(0);
        expect(toWire(present(prune(messages, { isMarked, maxTokens, textFor }).messages))).toEqual(toWire(left));
        // It ends in the safe zone, or where nothing more may be cleared.
        const inZone = countMessages(left) <= maxTokens;
        expect(inZone || prune(left, { isMarked, maxTokens: 0, textFor }).cleared === 0).toBe(true);
      }),
      { numRuns: runs },
    );
  }, 600_000);
});

describe("the safe zone", () => {
  it.each([
    [81_920, 200_000, 81_920],
    ["81920", 200_000, 81_920],
    ["80k", 200_000, 81_920],
    ["1M", 2_000_000, 1_048_576],
    ["0.5m", 2_000_000, 524_288],
    ["0.8", 100_000, 80_000],
    [0.5, 100_000, 50_000],
    ["80k", 10_000, 8000],
  ])("%j in a window of %i is %i tokens", (zone, window, tokens) => {
    expect(safeZoneTokens(LoopLimits.parse({ safe_zone: zone }).safe_zone, window)).toBe(tokens);
  });

  it.each(["", "k", "80kb", "-1", 0, "0", -3, "1e9", "eighty", null])("refuses %j", (zone) => {
    expect(LoopLimits.safeParse({ safe_zone: zone }).success).toBe(false);
  });
});
