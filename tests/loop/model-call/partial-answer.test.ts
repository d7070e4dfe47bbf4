import { expect, it } from "vitest";
import { toPartial } from "../../../src/loop/reply/partial-answer.ts";

it.each([
  ["x".repeat(50), "", false],
  ["x".repeat(51), "", true],
  ["", "y".repeat(51), true],
  // Characters as people count them, not the units that they are written with.
  ["😀".repeat(50), "", false],
  ["😀".repeat(51), "y", true],
])(
  "of a cut off answer %j with the thoughts %j it is %s that it is worth a message (MSG-04, STOP-07, STOP-08, STOP-10)",
  (text, reasoning, is_stored) => {
    const calls = [{ id: "c", name: "read_file", args: '{"path":' }];
    const answer = { id: "a", text, reasoning, calls };
    const { partial, message, calls: pending } = toPartial(answer, "user_requested", new Set());
    const marks = { is_partial: true, stop_reason: "user_requested", tokens_generated: expect.any(Number) };
    expect(partial).toMatchObject({ content: text, reasoning_content: reasoning, ...marks, is_stored });
    expect(partial.tokens_generated).toBeGreaterThan(10);
    expect(message).toMatchObject({
      id: "a",
      content: text,
      additional_kwargs: { ...marks, tool_calls_pending: calls },
    });
    expect(pending).toEqual(["c"]);
  },
);
