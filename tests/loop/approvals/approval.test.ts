import { describe, expect, it } from "vitest";
import { isAffirmative, readDecision } from "@millrace/engine/sessions/questions/read-decision";
import { confirmationRequest } from "../../../src/loop/tool-call/approval-request.ts";

describe("reading an answer to a confirmation", () => {
  it.each([
    ["a yes in words", "yes"],
    ["a yes in Chinese", "确认"],
    ["true", true],
    ["LangChain's form", { decisions: [{ type: "approve" }] }],
    ["a list of one", [{ type: "approve" }]],
    ["one decision", { type: "accept" }],
  ])("takes %s as an approval", (_, answer) => {
    expect(readDecision(answer)).toEqual({ kind: "approve" });
  });

  it.each([
    ["no", undefined],
    ["拒绝", undefined],
    [false, undefined],
    [{ decisions: [{ type: "reject", message: "not now" }] }, "not now"],
    [{ type: "ignore" }, undefined],
  ])("takes %j for a no", (answer, message) => {
    expect(readDecision(answer)).toEqual({ kind: "reject", message });
  });

  it.each([
    [{ decisions: [{ type: "edit", edited_action: { name: "delete_file", args: { path: "b" } } }] }],
    [{ decisions: [{ type: "edit", editedAction: { name: "delete_file", args: { path: "b" } } }] }],
    [{ type: "edit", args: { name: "delete_file", args: { path: "b" } } }],
    [{ type: "edit", args: { path: "b" } }],
  ])("reads edited arguments from %j", (answer) => {
    expect(readDecision(answer)).toEqual({ kind: "edit", args: { path: "b" } });
  });

  it.each([
    [null],
    [{}],
    ["maybe"],
    [{ decisions: [] }],
    [{ decisions: [{ type: "approve" }, { type: "approve" }] }],
    [7],
  ])("never takes %j as an approval", (answer) => {
    expect(readDecision(answer)).toMatchObject({ kind: "unclear", problem: expect.stringContaining("Expected") });
  });
});

describe("a message that may be an approval", () => {
  it.each([" yes ", "OK.", "确认 。", "confirm !"])("is one: %j", (message) => {
    expect(isAffirmative(message)).toBe(true);
  });

  // As long as a message may be: each is checked in every turn, and the server answers no other request meanwhile.
  it.each([`ok${" ".repeat(1_000_000)}no`, `yes${"\n".repeat(1_000_000)}.${" ".repeat(1_000_000)}but`])(
    "is none, however long: %#",
    (message) => {
      expect(isAffirmative(message)).toBe(false);
    },
  );
});

describe("the question", () => {
  it("carries LangChain's request in both spellings, with what was wrong with the last answer", () => {
    const request = confirmationRequest(
      { id: "c1", name: "delete_file", args: { path: "a" } },
      { question: "Delete a?", hash: "h", operation: { type: "DeleteFile", path: "a" } },
      "unclear",
    );
    expect(request).toMatchObject({ kind: "confirmation", tool_call_id: "c1", hash: "h", problem: "unclear" });
    expect(request.action_requests).toEqual(request.actionRequests);
    // Every word that is shown as an approval is one (CONF-09).
    for (const word of request.keywords) expect(readDecision(word)).toEqual({ kind: "approve" });
    expect(request.keywords).toEqual(expect.arrayContaining(["confirm", "确认"]));
    // Clients read one of the lists, and in it names of the other spelling.
    const decisions = ["approve", "edit", "reject"];
    const review = { actionName: "delete_file", allowedDecisions: decisions };
    expect(request.reviewConfigs).toEqual([{ ...review, action_name: "delete_file", allowed_decisions: decisions }]);
    expect(request.review_configs).toEqual(request.reviewConfigs);
  });
});
