import { describe, expect, it } from "vitest";
import { endOf, refusalOf } from "../../../console/thread/endings.ts";

describe("the result of a call, which is written for the model", () => {
  it.each([
    ["It says: Error (denied)", "done"],
    ["Error (not_found): There is no a.md.", "failed"],
    ["Error (denied): The user refused this call. Acknowledge it and do not repeat the call.", "refused"],
    ["Error (blocked): Refused: it uses sudo.", "refused"],
    ["Not run: the turn was interrupted before this call began.", "cut"],
    ["Not run: the question about this call was not answered, and the conversation went on.", "cut"],
    ["This tool call was interrupted before it had a result. Whether it had an effect is not known.", "cut"],
    ["Interrupted while agents were at work; what they did stands. Their calls: a.", "cut"],
  ])("%s: %s", (text, status) => {
    expect(endOf(text)).toBe(status);
  });

  it.each([
    ["The user refused this call. Acknowledge it and do not repeat the call.", "call", ""],
    [
      "The user refused this call. They said: no.\nNot today. Acknowledge it and do not repeat the call.",
      "call",
      "no.\nNot today.",
    ],
    [
      "The user refused this call. They said: Nobody answered within 1 hour(s), which counts as a no. Acknowledge it and do not repeat the call.",
      "late",
      "",
    ],
    [
      "The user did not confirm a further tool in this turn. They said: no Call no further tool; answer with what is known.",
      "call",
      "no",
    ],
    ["The user does not want this plan carried out. Do nothing of it; say so in one sentence.", "plan", ""],
    ["The user gave no answer. Do not ask again: state an assumption and go on, or say what is missing.", "answer", ""],
    ["Not run: what delete_file would do now is not what was approved. Look at the present state; …", "changed", ""],
    ["Refused: it uses sudo. Do without this command.", "rule", "Refused: it uses sudo. Do without this command."],
  ])("%s: %s, and the words of the person", (text, why, said) => {
    expect(refusalOf(`Error (denied): ${text}`)).toEqual({ why, said });
  });
});
