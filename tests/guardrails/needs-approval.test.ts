import { describe, expect, it } from "vitest";
import { z } from "zod";
import { needsApproval } from "../../src/guardrails/rules/needs-approval.ts";
import { defineTool, type Operation } from "../../src/tools/runtime/tool.ts";

const tool = defineTool({
  name: "any",
  description: "",
  schema: z.object({}),
  effect: "unsafe",
  timeoutSeconds: 1,
  resources: () => [],
  operation: () => Promise.resolve({ type: "Query" }),
  run: () => Promise.resolve({ success: true, code: "OK", message: "" }),
});
const verdict = (operation: Operation, userRequest = "please help") =>
  needsApproval({ tool, input: {}, operation, userRequest, requiresConfirm: false }).kind;

describe("what a person must confirm", () => {
  it.each<[Operation, string]>([
    [{ type: "Query" }, "allow"],
    [{ type: "Create" }, "allow"],
    [{ type: "SimpleModify" }, "allow"],
    [{ type: "DeleteFile", path: "a.txt" }, "ask"],
    [{ type: "DeleteFolder", path: "a", entries: 0 }, "ask"],
    [{ type: "DeleteFolder", path: "a", entries: 3 }, "ask"],
    [{ type: "ModifyCriticalFile", path: "package.json" }, "ask"],
    [{ type: "BatchOperation", count: 10 }, "allow"],
    [{ type: "BatchOperation", count: 11 }, "ask"],
    [{ type: "IrreversibleOperation", path: "a", overwrites: true }, "ask"],
    [{ type: "IrreversibleOperation", path: "a", overwrites: false }, "ask"],
    [{ type: "HighRiskOperation", what: "a command" }, "ask"],
  ])("%j: %s", (operation, expected) => {
    expect(verdict(operation)).toBe(expected);
  });

  it("looks for the file in a request as long as one may be", () => {
    const request = `delete b, ${"a".repeat(1_000_000)}`;
    expect(verdict({ type: "DeleteFile", path: "a" }, request)).toBe("ask");
    expect(verdict({ type: "DeleteFile", path: "b" }, request)).toBe("allow");
  });

  it.each<[string, Operation, string]>([
    ["delete a.txt", { type: "DeleteFile", path: "a.txt" }, "allow"],
    ["please delete docs/a.txt.", { type: "DeleteFile", path: "docs/a.txt" }, "allow"],
    ["请删除 a.txt", { type: "DeleteFile", path: "a.txt" }, "allow"],
    ["删除a.txt，谢谢", { type: "DeleteFile", path: "a.txt" }, "allow"],
    ["delete data.txt", { type: "DeleteFile", path: "a.txt" }, "ask"],
    ["delete a.txt.bak", { type: "DeleteFile", path: "a.txt" }, "ask"],
    ["read a.txt", { type: "DeleteFile", path: "a.txt" }, "ask"],
    ["do not delete a.txt", { type: "DeleteFile", path: "a.txt" }, "ask"],
    ["不要删除 a.txt", { type: "DeleteFile", path: "a.txt" }, "ask"],
    ["delete the folder old", { type: "DeleteFolder", path: "old", entries: 2 }, "ask"],
    ["delete the folder old", { type: "DeleteFolder", path: "old/", entries: 0 }, "allow"],
    ["delete package.json", { type: "ModifyCriticalFile", path: "package.json" }, "ask"],
    ["overwrite a.txt", { type: "IrreversibleOperation", path: "a.txt", overwrites: true }, "allow"],
    ["rename a.txt to a.sh", { type: "IrreversibleOperation", path: "a.txt", overwrites: false }, "allow"],
    ["overwrite a.txt", { type: "IrreversibleOperation", path: "a.txt", overwrites: false }, "ask"],
    ["rename a.txt to b.txt", { type: "IrreversibleOperation", path: "a.txt", overwrites: true }, "ask"],
  ])("after %j, %j: %s", (request, operation, expected) => {
    expect(verdict(operation, request)).toBe(expected);
  });
});
