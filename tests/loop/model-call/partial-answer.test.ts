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
  "of a cut off answer %j with the thoughts %j it is %s that it is worth a message (MSG-04, STOP-07, STOP-08)",
  (text, reasoning, is_stored) => {
    const { partial, message } = toPartial({ id: "a", text, reasoning, calls: [] }, "user_requested", new Set());
    const marks = { is_partial: true, stop_reason: "user_requested", tokens_generated: expect.any(Number) };
    expect(partial).toMatchObject({ content: text, reasoning_content: reasoning, ...marks, is_stored });
    expect(partial.tokens_generated).toBeGreaterThan(10);
    expect(message).toMatchObject({ id: "a", content: text, additional_kwargs: marks });
  },
);
