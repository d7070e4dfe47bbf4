import { describe, expect, it } from "vitest";
import { createBuiltInPrompts } from "../../../src/prompts/prompts.ts";
import { describeTools } from "@millrace/models/describe-tools";
import { identityPlanner } from "../prompts/identity-planner.ts";

const prompts = createBuiltInPrompts({ identities: { planner: identityPlanner }, identityVariables: [] });

describe("the identity", () => {
  it("says what changes at the end of the text, so that the rest can be cached (PROMPT-16)", () => {
    const values = { today: "2026-02-03", user_name: "Ada" };
    const native = prompts.identity("planner", values);
    expect(native).toMatch(/Today: 2026-02-03\nThe user's name: Ada$/u);
    expect(native).not.toContain("<tool_use>");
    const tools = describeTools([], "invoke");
    expect(prompts.identity("planner", { ...values, tool_format: tools })).toContain("<tool_use>");
  });
});
