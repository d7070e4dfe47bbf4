import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/agents/agent-folders.ts";
import { readDelegation } from "../../src/agents/delegation.ts";
import { subAgentsSection } from "../../src/agents/sub-agents-section.ts";
import { runNamedSubagents } from "../../src/tools/agents/run-named-subagents.ts";
import { prepareCall } from "../../src/tools/runtime/run-tool.ts";

const agent = (name: string, tools: string[] | null): Agent => ({
  name,
  description: `Does ${name}`,
  tools,
  model: null,
  includeRules: false,
  prompt: "…",
});

describe("the section about agents", () => {
  it("lists them by name with description and tools, and shows a parallel and a serial call of the first two", () => {
    const text = subAgentsSection([agent("c", []), agent("b", null), agent("a", ["read_file", "create_file"])]);
    expect(text).toMatch(
      /- a: Does a \(tools: read_file, create_file\)\n- b: Does b \(tools: all\)\n- c: Does c \(tools: none\)/u,
    );
    for (const mode of ["parallel", "serial"]) {
      const shown = new RegExp(`- ${mode}: run_named_subagents (.*)`, "u").exec(text)?.[1] ?? "";
      const call = prepareCall(runNamedSubagents, shown);
      expect(call).toMatchObject({ kind: "ready", input: { mode, subagents: [{ name: "a" }, { name: "b" }] } });
    }
  });

  it("shows calls in which no name is anything but a name (AGENT-07)", () => {
    const names = [`x"}], "mode": "serial`, `'; rm -rf . #`, "$(id)", "a\nb"];
    for (const name of names) {
      const text = subAgentsSection([agent(name, null)]);
      const shown = /^- parallel: run_named_subagents (.*)$/mu.exec(text)?.[1] ?? "";
      expect(prepareCall(runNamedSubagents, shown), name).toMatchObject({
        kind: "ready",
        input: { mode: "parallel", subagents: [{ name, task: `the task for ${name}` }] },
      });
    }
  });

  it("is empty when there are none", () => {
    expect(subAgentsSection([])).toBe("");
  });
});

describe("the arguments of run_named_subagents", () => {
  const wanted = { mode: "serial", subagents: [{ name: "a", task: "Do: this\nand that" }], timeout_seconds: 1800 };
  const yaml = "mode: serial\nsubagents:\n    - name: a\n      task: |-\n        Do: this\n        and that\n";
  it.each([
    ["a list", { mode: "serial", subagents: wanted.subagents }],
    ["a list as JSON text", { mode: "serial", subagents: JSON.stringify(wanted.subagents) }],
    ["the text of the documents", { subagents: yaml }],
    ["the whole as JSON text", { subagents: JSON.stringify({ mode: "serial", subagents: wanted.subagents }) }],
  ])("may be %s", (_, given) => {
    const call = prepareCall(runNamedSubagents, given);
    expect(call.kind).toBe("ready");
    if (call.kind === "ready") expect(runNamedSubagents.inTurn?.delegates?.(call.input as never)).toEqual(wanted);
  });

  it.each([
    ["unknown", { subagents: [] }],
    ["too many", { subagents: Array.from({ length: 9 }, () => ({ name: "a", task: "b" })) }],
    ["no task", { subagents: [{ name: "a" }] }],
    ["a text that is no list", { subagents: "just words" }],
    ["a text that is longer than it can be", { subagents: `- {name: a, task: "${"b".repeat(70_000)}"}` }],
    ["a text with references", { subagents: "- &x {name: a, task: b}\n- *x" }],
  ])("are refused with %s", (_, given) => {
    expect(prepareCall(runNamedSubagents, given)).toMatchObject({
      kind: "invalid",
      result: { errorType: "invalid_parameter", message: expect.stringContaining('"subagents"') },
    });
  });

  it("are read the same way when given as text", () => {
    expect(readDelegation(yaml)).toEqual({ kind: "delegation", mode: "serial", subagents: wanted.subagents });
    const long = [{ name: "a", task: "b".repeat(70_000) }];
    expect(readDelegation(JSON.stringify(long))).toMatchObject({ kind: "delegation", subagents: long });
    expect(readDelegation("[")).toMatchObject({ kind: "invalid", problem: expect.stringContaining("Expected a list") });
  });

  it("do nothing where there is no conversation to work in", async () => {
    expect(
      await runNamedSubagents.run({ subagents: [{ name: "a", task: "b" }] }, { server: {} } as never),
    ).toMatchObject({
      success: false,
      errorType: "unavailable_tool_mode",
    });
  });
});
