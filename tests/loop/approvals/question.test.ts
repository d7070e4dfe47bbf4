import { describe, expect, it } from "vitest";
import { readAnswer } from "../../../src/loop/tool-call/user-question.ts";

const followup = { kind: "followup" } as const;
const plan = { kind: "plan_review" } as const;

describe("the answer to a question of the model", () => {
  it.each([
    "June",
    { type: "answer", text: "June" },
    { type: "answer", value: "June" },
    { type: "respond", text: "June" },
    { type: "response", args: "June" },
    { type: "respond", message: " June " },
    { decisions: [{ type: "respond", message: "June" }] },
    [{ type: "response", args: "June" }],
  ])("is read from %j", (answer) => {
    expect(readAnswer(answer, followup)).toMatchObject({
      kind: "result",
      result: { success: true, content: "The user answered: June" },
    });
  });

  it.each([false, { type: "reject" }, { type: "ignore" }, { decisions: [{ type: "reject" }] }])(
    "may be no answer: %j",
    (answer) => {
      expect(readAnswer(answer, followup)).toMatchObject({
        result: { success: false, errorType: "denied", content: expect.stringContaining("gave no answer") },
      });
    },
  );

  it("carries why there is none", () => {
    expect(readAnswer({ type: "reject", message: "Nobody answered within 1 hour(s)." }, followup)).toMatchObject({
      result: { message: expect.stringContaining("Nobody answered") },
    });
  });

  it.each([true, { type: "approve" }, { type: "accept" }])("may agree to a plan: %j", (answer) => {
    expect(readAnswer(answer, plan)).toMatchObject({
      result: { success: true, content: expect.stringContaining("agrees") },
    });
  });

  it.each(["Begin with step 2", { type: "respond", text: "Begin with step 2" }])("may change a plan: %j", (answer) => {
    expect(readAnswer(answer, plan)).toMatchObject({ result: { content: "The user answered: Begin with step 2" } });
  });

  it("may refuse a plan, and then nothing of it is to be done", () => {
    expect(readAnswer({ type: "reject", message: "too long" }, plan)).toMatchObject({
      result: { success: false, errorType: "denied", content: expect.stringMatching(/too long.*Do nothing of it/u) },
    });
  });

  it.each([null, "", "  ", 7, {}, { type: "answer" }, { type: "answer", text: "" }, { decisions: [] }])(
    "is asked for again after %j",
    (answer) => {
      expect(readAnswer(answer, followup)).toEqual({ kind: "unclear", problem: expect.stringContaining("Expected") });
    },
  );

  it.each([true, { type: "approve" }])("is no answer where words were asked for: %j", (answer) => {
    expect(readAnswer(answer, followup).kind).toBe("unclear");
  });
});
