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
  "of a cut off answer %j with the thoughts %j it is %s that it is worth a message (MSG-04, STOP-08)",
  (text, reasoning, is_stored) => {
    const { partial, message } = toPartial({ id: "a", text, reasoning, calls: [] }, "user_requested", new Set());
    expect(partial).toMatchObject({ content: text, reasoning_content: reasoning, is_stored });
    expect(message).toMatchObject({ id: "a", content: text, additional_kwargs: { is_partial: true } });
  },
);
