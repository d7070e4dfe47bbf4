import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { breaksOff, completenessOf } from "../../src/guardrails/reply-completeness.ts";
import { reviewTurn } from "../../src/guardrails/review-turn.ts";
import { readTurn } from "../../src/guardrails/turn.ts";

/** Characters that a message of a user may have, and about half of those that a model's answer may have. */
const many = 1_000_000;

// What takes time by the square of such a text keeps every run of the server waiting for minutes.
describe("the rules read a text that is as long as one may be", () => {
  it.each([
    ["line breaks", "\n"],
    ["spaces", " "],
    ["quotation marks", '"'],
    ["backticks", "`"],
    ["blank lines of code fences", "\n```"],
  ])("a reply with a long run of %s in its middle", (_, part) => {
    const reply = `Here it is:${part.repeat(many / part.length)}all of it.`;
    expect(completenessOf(reply)).toEqual({ complete: true, by: "sentence_end" });
    expect(breaksOff(reply)).toBe(false);
  });

  it("replies that say nearly the same in many phrases", () => {
    const phrases = Array.from({ length: 60_000 }, (_phrase, at) => `this is phrase number ${at}.`);
    const messages = [phrases, ["And now.", ...phrases]].map(
      (words, at) =>
        new AIMessage({ content: words.join(" "), additional_kwargs: at === 0 ? {} : { forced_by: "empty" } }),
    );
    const limits = { same_failure_limit: 2, stagnation_threshold: 3 };
    expect(reviewTurn(readTurn(messages, { userRequest: "", tools: [] }), limits)).toEqual([]);
  });
});
