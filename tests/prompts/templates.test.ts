import { describe, expect, it } from "vitest";
import { nodes } from "../../src/nodes/index.ts";
import { checkContent } from "../../src/prompts/check-content.ts";
import { documentContext } from "../../src/prompts/templates/document-context.ts";
import { documentReferences, referencesText } from "../../src/prompts/templates/document-references.ts";
import { identityMinimal } from "../../src/prompts/identity/identity-profiles.ts";
import { nodesOfTemplate, templatesOfNode } from "../../src/prompts/node-templates.ts";
import { identityChat } from "../../src/prompts/identity/identity-chat.ts";
import { templates as coreTemplates } from "../../src/prompts/index.ts";
import { builtInPrompts } from "../../src/prompts/prompts.ts";
import type { Template } from "../../src/prompts/template.ts";
import { describeTools, toolText } from "@millrace/models/describe-tools";
import { describeToolsBy } from "../../src/prompts/templates/xml-tools.ts";
import { promptParts } from "../../src/toolkits/composition.ts";
import { readSource, sourceFiles } from "../support/source-files.ts";

const { templates, actionTemplates, identityVariables } = promptParts();
const all = Object.entries(templates);

describe("every built-in template", () => {
  it("is in the list", () => {
    expect(Object.keys(templates)).toEqual(
      expect.arrayContaining([
        "compress",
        "free_work",
        "json_output",
        "identity",
        "identity_chat",
        "identity_agentic",
        "identity_minimal",
        "anti_tampering",
        "document_context",
        "document_references",
        "xml_tools",
        "user_rules",
        "user_rules_read",
        "sub_agents",
        "iteration_warning",
        "loop_note",
        "blocked_call",
        "background_summary",
        "tool_cleared",
        "summary_marker",
        "plan",
        "clarify",
        "confirmation",
        "forced_tool",
      ]),
    );
  });

  it.each(all)("%s can be used: its variables stand in it, and nothing else that looks like one", (name, template) => {
    const variables = [...template.required, ...template.optional, ...identityVariables];
    // Identities offer variables to those who write their own; an example may have braces that are no variables.
    const problems = checkContent(template.content, { variables, required: template.required, missing: "error" });
    expect(problems.filter(({ variable }) => !(name === "spice_output" && variable === "rload"))).toEqual([]);
    const unused = template.optional.filter((variable) => !template.content.includes(`{${variable}`));
    if (!name.startsWith("identity")) expect(unused).toEqual([]);
  });

  it.each(all)("%s has its own name, titles in two languages, and is English (PROMPT-11)", (name, template) => {
    expect(template.name).toBe(name);
    expect(template.title.en).toMatch(/^[A-Z]/u);
    expect(template.title.zh).toMatch(/\p{Script=Han}/u);
    expect(template.description).toMatch(/^[A-Z].*\.$/u);
    expect(template.content).not.toMatch(/\p{Script=Han}/u);
    expect(template.content).not.toContain("<!--");
  });

  it("keeps its braces when it is filled with nothing", () => {
    for (const [, template] of all) {
      const literal = (text: string): string[] => text.match(/\{[^A-Za-z_][^\n]*\}/gu) ?? [];
      expect(literal(builtInPrompts.text(template, {})), template.name).toEqual(
        expect.arrayContaining(literal(template.content)),
      );
    }
  });
});

/** The file that a template stands in, with its name's underlines. */
const fileOf = (template: string): string => (template === "compress_now" ? "compress" : template);

describe("the maps of the templates", () => {
  it("append to each task what its answer looks like", () => {
    const blocks = all.flatMap(([, { format }]) => format?.template ?? []);
    expect(blocks.length).toBeGreaterThan(0);
    for (const [name, { format, ...template }] of all) {
      const text = builtInPrompts.text({ ...template, format }, {});
      const appended = blocks.filter((block) => block.name !== name && text.endsWith(block.content));
      expect([...new Set(appended.map((block) => block.name))], name).toEqual(
        format === null ? [] : [format.template.name],
      );
    }
    expect(templates["clarify"]?.format?.name).toBe("json");
  });

  it("name exactly the templates that each node asks for", () => {
    const filesOf = {
      compress: ["compress"],
      intent: ["intent", "intent/read-intent"],
      clarify: ["intent/clarification"],
      plan: ["plan"],
      action: ["action"],
      free_work: ["free-work"],
    };
    for (const [node, files] of Object.entries(filesOf)) {
      const imported = files
        .flatMap((file) => readSource(`src/nodes/${file}.ts`).imports)
        .map((name) => /\/prompts\/(?:\w+\/)?(.+)\.ts$/u.exec(name)?.[1]?.replaceAll("-", "_") ?? "");
      const asked = Object.keys(templates).filter((name) => imported.some((file) => fileOf(name) === file));
      expect(templatesOfNode(node, []).toSorted(), node).toEqual(asked.toSorted());
    }
  });

  it("name only templates and nodes that there are", () => {
    for (const node of Object.keys(nodes)) {
      const names = templatesOfNode(node, actionTemplates);
      expect(names.length, node).toBeGreaterThan(0);
      expect(
        names.filter((name) => !(name in templates)),
        node,
      ).toEqual([]);
    }
    expect(nodesOfTemplate("clarify", [])).toEqual(["clarify"]);
    expect(nodesOfTemplate("mend", ["mend"])).toEqual(["action"]);
    expect(templatesOfNode("unknown", [])).toEqual([]);
  });
});

/** What gives Markdown away, and words that no text for the document profile uses (PROMPT-09). */
const markdown = /\*\*|(^|\s)\*\S|^\s*#{1,6}\s|```|^\s*[-*+]\s|^\s*\d+\.\s|\[[^\]]+\]\([^)]+\)|`/mu;
const engineering =
  /execut\w+ (an? |the )?operation|call\w* (an? |the )?function|return\w* (an? |the )?(result|value)|execution (logic|effect)|work summary|system prompt|according to/iu;

describe("the texts of the document profile", () => {
  // Identities of other profiles, and forms that a program reads.
  const others = new Set(["identity", "identity_agentic", "xml_tools", "xml_tools_by_tag"]);
  const own: Template[] = Object.entries(coreTemplates).flatMap(([name, template]) =>
    others.has(name) ? [] : [template],
  );
  it.each(own.map((template) => [template.name, template.content]))(
    "%s are plain: no Markdown, no engineering",
    (_, content) => {
      expect(content).not.toMatch(markdown);
      expect(content).not.toMatch(engineering);
    },
  );

  it.each(["**bold**", "a *b*", "## Title", "```ts", "- item", "1. item", "[a](b)", "`code`"])(
    "may not hold %s",
    (text) => {
      expect(text).toMatch(markdown);
    },
  );

  it.each(["execute the operation", "call a function", "Returns the result", "According to the rules"])(
    "may not say: %s",
    (text) => {
      expect(text).toMatch(engineering);
    },
  );

  it("end in a full stop, where a model gets them", () => {
    const spoken = ["free_work", "plan", "reply"].flatMap((name) => templates[name] ?? []);
    for (const { content } of [identityChat, documentContext, documentReferences, ...spoken]) {
      expect(content).toMatch(/[.}:]$/u);
    }
  });

  it("leave out what the editor does not report, and number what the user refers to", () => {
    expect(builtInPrompts.text(documentContext, { file_path: "a.md" })).toBe("Current document: a.md");
    const references = [
      { kind: "file", source: "a.md", content: "A" },
      { kind: "selection", source: "b.md", content: "{B}" },
    ];
    expect(builtInPrompts.text(documentReferences, { references: referencesText(references) })).toContain(
      "Reference 1: file (source: a.md)\nA\n\nReference 2: selection (source: b.md)\n{B}",
    );
  });
});

describe("the identities", () => {
  it("has the sections of the agentic prompt in their order (PROMPT-12), with its rules (PROMPT-13)", () => {
    const values = {
      working_directory: "/project",
      os: "Linux",
      rules: "Rule one.",
      files: "a.ts",
      mcp_servers: "MCP: files",
    };
    const text = builtInPrompts.identity("agentic", values);
    const headings = [...text.matchAll(/^====\n\n([A-Z ]+)$/gmu)].map(([, heading]) => heading);
    expect(headings).toEqual([
      "TOOL USE",
      "PROJECT",
      "CAPABILITIES",
      "RULES",
      "SYSTEM INFORMATION",
      "OBJECTIVE",
      "DEFAULT WORKFLOW",
    ]);
    expect(text).toContain("The working directory is /project. It is fixed");
    for (const fact of ["Operating system: Linux", "Rule one.", "MCP: files"]) expect(text).toContain(fact);
    expect(text).not.toContain("Shell:");
    expect(text).toContain("you cannot change into another one");
    expect(text).toContain("Follow the rules that the user gives below");
    expect(text).toContain("Read the rule files that the task needs before you begin.");
    expect(text).toMatch(/\nRead these files first: a\.ts$/u);
  });

  it("has the texts about tools in the order of PROMPT-12, after the system prompt and before everything else", () => {
    const inOrder = [
      "system_prompt",
      "tool_format",
      "tools",
      "mcp_servers",
      "agents",
      "groups",
      "tool_examples",
      "tool_guidelines",
      "case_docs",
      "packages",
      "rules",
      "os",
      "shell",
      "home",
      "files",
    ];
    const values = Object.fromEntries(inOrder.map((name) => [name, `<${name}>`]));
    const text = builtInPrompts.identity("agentic", { ...values, working_directory: "/project" });
    expect(text.match(/<\w+>/gu)).toEqual(inOrder.map((name) => `<${name}>`));
    expect(text).toMatch(/^<system_prompt>\nYou are an experienced software engineer\..*\n\n====\n\nTOOL USE\n/u);
  });

  it.each(["general", "agentic"] as const)("say of %s how to deal with a failure (PROMPT-10)", (profile) => {
    const identity = builtInPrompts.identity(profile, { working_directory: "/work" });
    expect(identity).toMatch(/find the cause and try another way; if there is none, explain the options and ask/u);
  });

  it("asks for what was asked, and for no more (TASK-10)", () => {
    expect(builtInPrompts.identity("general", {})).toContain("Do all that was asked and no more.");
  });

  it("never is empty", () => {
    expect(identityMinimal.content).not.toBe("");
  });
});

describe("tools as text", () => {
  const tool = {
    name: "read_task",
    description: "Reads a task. Not for schedules.",
    parameters: [
      { name: "id", required: true, description: "The task", example: "7" },
      { name: "full", required: false, description: "Whether all of it" },
    ],
    extraRules: ["Only your own tasks."],
  };

  it("are described by purpose, parameters, a sample and further rules (PROMPT-14)", () => {
    expect(toolText(tool)).toBe(
      [
        "### read_task",
        "Description: Reads a task. Not for schedules.",
        "Parameters:",
        "- id (required): The task",
        "- full (optional): Whether all of it",
        "Example:",
        "<tool_use>",
        '<invoke name="read_task">',
        '<parameter name="id">7</parameter>',
        "</invoke>",
        "</tool_use>",
        "Note: Only your own tasks.",
      ].join("\n"),
    );
    expect(toolText({ ...tool, parameters: [] })).toContain("Parameters:\nnone");
  });

  it("come with the format and the rules of XML (PROMPT-16), and only the tools given", () => {
    const text = describeToolsBy(builtInPrompts)([tool], "invoke");
    expect(text).toBe(describeTools([tool], "invoke"));
    for (const words of [
      "One call at a time",
      "All values are text",
      "true and false",
      "Keep exactly to the form",
      "<parameter name=",
      "### read_task",
    ]) {
      expect(text).toContain(words);
    }
    expect(text.match(/^### /gmu)).toHaveLength(1);
  });
});

describe("who may write prompts (ARCH-08)", () => {
  const sources = sourceFiles().map(readSource);

  it("makes a system message in one place", () => {
    const making = sources.filter(({ text }) => text.includes("new SystemMessage(")).map(({ path }) => path);
    // The storage gives back messages that were stored.
    expect(making.filter((path) => !/^packages\/engine\/src\/(storage|sessions)\//u.test(path))).toEqual([
      "packages/models/src/messages/system-message.ts",
    ]);
  });

  it("keeps prompt texts and override files out of the nodes and the loop", () => {
    const inner = sources.filter(({ path }) => /^src\/(nodes|loop|guardrails|graph)\//u.test(path));
    for (const { path, text, imports } of inner) {
      expect(text, path).not.toMatch(/<!--|defineTemplate|OverrideFile/u);
      if (!/^src\/(nodes|loop)\//u.test(path)) continue;
      expect(text, path).not.toMatch(/\b(?:task|instruction|system): *["'`]/u);
      if (path.startsWith("src/nodes/"))
        expect(
          imports.filter((name) => name.startsWith("node:fs")),
          path,
        ).toEqual([]);
    }
  });

  it("asks for every text through the run's own prompts, so that an override counts everywhere", () => {
    const overridable = new Set(
      sources
        .filter(({ path }) => path.startsWith("src/prompts/"))
        .flatMap(({ text }) => [
          ...text.matchAll(/export function (\w+)\([^{]*(?:\{[^)]*)?prompts: Prompts = builtInPrompts/gu),
        ])
        .map(([, name]) => name ?? ""),
    );
    expect(overridable.size).toBeGreaterThan(15);
    const forgotten = sources
      .filter(({ path }) => !path.startsWith("src/prompts/"))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/(?<![\w.])(\w+)\(/gu)]
          .filter(([, name = ""]) => overridable.has(name) && !text.includes(`function ${name}(`))
          .filter(({ index }) => !/[pP]rompts/u.test(argumentsAt(text, index)))
          .map(([, name]) => `${path}: ${name}`),
      );
    expect(forgotten).toEqual([]);
  });
});

/** What stands between the parentheses of the call that begins at `start`. */
function argumentsAt(text: string, start: number): string {
  const open = text.indexOf("(", start);
  let depth = 0;
  for (let index = open; index < text.length; index += 1) {
    if (text[index] === "(") depth += 1;
    if (text[index] === ")") depth -= 1;
    if (depth === 0) return text.slice(open + 1, index);
  }
  return "";
}
