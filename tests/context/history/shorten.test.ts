import { AIMessage, HumanMessage, isHumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import { shorten } from "../../../src/context/compression/shorten.ts";

/** A turn: the request, rounds of so many calls, and the reply. */
const turn = fc.record({
  rounds: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 4 }),
  isAnswered: fc.boolean(),
  length: fc.integer({ min: 0, max: 60 }),
});

function messagesOf(turns: { rounds: number[]; isAnswered: boolean; length: number }[]): BaseMessage[] {
  let count = 0;
  const id = (): string => `m${(count += 1)}`;
  return turns.flatMap(({ rounds, isAnswered, length }) => [
    new HumanMessage({ id: id(), content: "ask ".repeat(length) }),
    ...rounds.flatMap((calls) => {
      const tool_calls = Array.from({ length: calls }, () => ({ id: `call-${id()}`, name: "read_file", args: {} }));
      const results = tool_calls.map(
        (call) => new ToolMessage({ id: id(), tool_call_id: call.id, content: "x".repeat(length * 3) }),
      );
      return [new AIMessage({ id: id(), content: "", tool_calls }), ...results];
    }),
    ...(isAnswered ? [new AIMessage({ id: id(), content: "y".repeat(length * 5) })] : []),
  ]);
}

describe("a conversation that is too long", () => {
  it("becomes a shorter one that is valid, in order, and has the user's last request", () => {
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 5 }), fc.integer({ min: 1, max: 12 }), (turns, keep) => {
        const messages = messagesOf(turns);
        const { shown, left } = shorten(messages, keep, 40);
        expect(repairToolPairs(shown)).toBe(shown);
        const ids = messages.map(({ id }) => id);
        const shownIds = shown.map(({ id }) => id);
        expect(shownIds.toSorted((a, b) => ids.indexOf(a) - ids.indexOf(b))).toEqual(shownIds);
        expect(new Set([...left.map(({ id }) => id), ...shownIds])).toEqual(new Set(ids));
        expect(left.length + shown.length).toBe(ids.length);
        expect(shownIds).toContain(messages.findLast(isHumanMessage)?.id);
        expect(shown.length).toBeGreaterThanOrEqual(Math.min(keep, messages.length));
      }),
    );
  });

  it("never cuts a character in half", () => {
    for (const offset of ["", "a"]) {
      const reply = new AIMessage(`${offset}${"😀".repeat(200)}`);
      const [shown] = shorten([new HumanMessage("Hello"), reply], 1, 100).shown.slice(1);
      expect(shown?.text).toContain("left out");
      expect(shown?.text.isWellFormed()).toBe(true);
    }
  });

  it("keeps the beginning and the end of a long result, and all of what the user wrote", () => {
    const call = { id: "c", name: "read_file", args: { path: "a" } };
    const messages = [
      new HumanMessage("u".repeat(500)),
      new AIMessage({ content: `begin${"-".repeat(500)}end`, tool_calls: [call] }),
      new ToolMessage({
        tool_call_id: "c",
        name: "read_file",
        status: "error",
        content: `top${".".repeat(500)}bottom`,
      }),
    ];
    const [request, reply, result] = shorten(messages, 3, 100).shown;
    expect(request).toBe(messages[0]);
    expect(reply?.text).toMatch(/^begin-+\n\[… 408 characters left out …\]\n-+end$/u);
    expect(reply).toMatchObject({ tool_calls: [call] });
    expect(result?.text).toMatch(/^top.*left out.*bottom$/su);
    expect(result).toMatchObject({ tool_call_id: "c", name: "read_file", status: "error" });
    expect(messages[2]?.text).toHaveLength(509);
  });
});
