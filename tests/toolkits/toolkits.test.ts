import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import type { Guardrail } from "../../src/guardrails/guardrail.ts";
import { templates } from "../../src/prompts/index.ts";
import { tools } from "../../src/tools/index.ts";
import { chosenToolkits, enabledToolkits, identityOfToolkits } from "../../src/toolkits/enabled-toolkits.ts";
import { toolkits } from "../../src/toolkits/index.ts";
import { defineToolkit, guardrailsOver, type Toolkit } from "../../src/toolkits/toolkit.ts";
import { filesBelow, projectFolder } from "../support/source-files.ts";

const namesOf = (list: readonly Toolkit[]): string[] => list.map(({ name }) => name);
const caught = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

/** A toolkit with the parts that a test is about. */
function toolkit(name: string, parts: Partial<Toolkit> = {}): Toolkit {
  const title = { en: name, zh: name };
  return defineToolkit({ name, title, description: title, enabled: "default", ...parts });
}

describe("the list of toolkits", () => {
  it("names every file of the folder, each by its name", () => {
    const machinery = [
      "added-toolkits",
      "composition",
      "enabled-toolkits",
      "index",
      "open-toolkits",
      "route-services",
      "toolkit",
      "tools-of-owner",
    ];
    const files = filesBelow("src/toolkits").map((path) => (path.split("/").at(-1) ?? "").replace(".ts", ""));
    const folders = readdirSync(join(projectFolder, "toolkits"));
    const names = [...files.filter((name) => !machinery.includes(name)), ...folders];
    expect(names.toSorted()).toEqual(namesOf(toolkits).toSorted());
  });

  it("gives every tool of the agent to exactly one toolkit, and no name twice", () => {
    const names = toolkits.flatMap((one) => one.tools.map(({ name }) => name));
    expect(names).toEqual(expect.arrayContaining(Object.keys(tools)));
    expect(new Set(names).size).toBe(names.length);
  });

  it("owns nothing twice: templates, collectors, rules, and what it adds to state, context and workflow", () => {
    const owned = toolkits.flatMap((one) => [...one.templates, ...one.collectors, ...one.guardrails]);
    expect(new Set(owned).size).toBe(owned.length);
    const added = toolkits.flatMap(({ workflow }) =>
      [workflow.state, workflow.context, workflow.nodes, workflow.actions, workflow.identityVariables].map((part) =>
        Object.keys(part ?? {}),
      ),
    );
    for (const kind of [0, 1, 2, 3, 4]) {
      const names = added.filter((_, index) => index % 5 === kind).flat();
      expect(new Set(names).size).toBe(names.length);
    }
    expect(
      owned.filter((part) => "content" in part && templates[part.name] !== undefined && templates[part.name] !== part),
    ).toEqual([]);
  });
});

describe("the toolkits of a server", () => {
  const all = [
    toolkit("files"),
    toolkit("talk", { enabled: "always" }),
    toolkit("shell", { enabled: "named" }),
    toolkit("planner", { identity: { profile: "planner" } }),
  ];

  it.each([
    [[], ["files", "talk", "planner"]],
    [["planner"], ["talk", "planner"]],
    [
      ["shell", "default"],
      ["files", "talk", "shell", "planner"],
    ],
  ])("for %j are %j", (names, expected) => {
    expect(namesOf(enabledToolkits(names, all))).toEqual(expected);
  });

  it("refuse an unknown name, and list the known ones", () => {
    const error = caught(() => enabledToolkits(["files", "flying"], all));
    expect(isAppError(error) && error).toMatchObject({ code: "config", message: expect.stringContaining("flying") });
    expect(isAppError(error) && error.suggestion).toContain("default, files, talk, shell, planner");
  });

  it.each([
    [undefined, ["files", "talk", "shell", "planner"]],
    [[], ["talk"]],
    [
      ["shell", "files"],
      ["files", "talk", "shell"],
    ],
  ])("are narrowed by a run that names %j to %j", (names, expected) => {
    expect(namesOf(chosenToolkits(names, all))).toEqual(expected);
  });

  it("cannot be widened by a run", () => {
    const error = caught(() => chosenToolkits(["shell"], enabledToolkits([], all)));
    expect(isAppError(error) && error).toMatchObject({
      code: "invalid_parameter",
      message: "This server has no toolkit shell; it has files, talk, planner.",
    });
  });

  it("give the identity of the first that a run names and that has one", () => {
    expect(identityOfToolkits(undefined, all)).toBeUndefined();
    expect(identityOfToolkits(["files"], all)).toBeUndefined();
    expect(identityOfToolkits(["files", "planner"], all)).toBe("planner");
  });
});

describe("what a toolkit owns", () => {
  const allow: Guardrail = () => ({ kind: "allow" });
  const refuse: Guardrail = () => ({ kind: "deny", reason: "no" });

  it("rules over its own tools, and over no other", () => {
    const one = toolkit("one", { tools: [tools.read_file], guardrails: [refuse] });
    const other = toolkit("other", { tools: [tools.list_files] });
    expect(guardrailsOver("read_file", [allow], [one, other])).toEqual([refuse, allow]);
    expect(guardrailsOver("list_files", [allow], [one, other])).toEqual([allow]);
    expect(guardrailsOver("of_another_source", [allow], [one, other])).toEqual([allow]);
  });
});
