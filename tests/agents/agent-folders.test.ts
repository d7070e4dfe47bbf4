import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AgentSource, createAgentFolders, readAgentFile } from "../../src/agents/agent-folders.ts";

let root: string;
let logged: { event: string; fields: Record<string, unknown> }[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "millrace-folders-"));
  logged = [];
});
afterEach(() => rmSync(root, { recursive: true }));

const knownTools = ["read_file", "create_file"];

function open(): AgentSource {
  const logger = {
    error: (fields: unknown, event?: string) => {
      logged.push({ event: event ?? "", fields: { ...(typeof fields === "object" ? fields : {}) } });
    },
  };
  return createAgentFolders({
    workspace: join(root, "project"),
    home: join(root, "home"),
    toolNames: knownTools,
    logger,
  });
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const agent = (name: string, description = "Works", more = ""): string =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\nYou are ${name}.\n`;

describe("an agent file", () => {
  const read = (front: string, body = "\nBe good.\n") =>
    readAgentFile(`---\n${front}\n---\n${body}`, new Set(knownTools));

  it("holds all that the documents name", () => {
    const text =
      "name: reviewer\ndescription: Reviews code\ntools: read_file, create_file\nmodel: openai:gpt\ninclude_rules: true";
    expect(read(text)).toEqual({
      kind: "agent",
      agent: {
        name: "reviewer",
        description: "Reviews code",
        tools: ["read_file", "create_file"],
        model: "openai:gpt",
        includeRules: true,
        prompt: "Be good.",
      },
    });
  });

  it.each([
    ["", null],
    ["tools: *", null],
    ['tools: "*"', null],
    ["tools: [read_file]", ["read_file"]],
    ["tools:\n  - read_file\n  - create_file", ["read_file", "create_file"]],
    ["tools: read_file,read_file ,", ["read_file"]],
    ['tools: ""', []],
    ["tools:", []],
    ["tools: []", []],
  ])("may say %j about its tools", (line, tools) => {
    expect(read(`name: a\ndescription: b\n${line}`)).toMatchObject({ kind: "agent", agent: { tools } });
  });

  it.each([
    ["name: a", "description"],
    ["description: b", "name"],
    ["name: two words\ndescription: b", "name: a word of letters"],
    ["name: a\ndescription: ''", "description"],
    ["name: a\ndescription: b\ntools: fly", "there is no fly"],
    ["name: a\ndescription: b\ntools: 3", "tools: names with commas"],
    ["name: a\ndescription: b\ninclude_rules: perhaps", "include_rules"],
    ["name: [a", "not YAML"],
    ["name: &x a\ndescription: *x", "not YAML"],
    ["just words", "fields such as"],
  ])("with %j is none, and the reason says why", (front, reason) => {
    expect(read(front)).toEqual({ kind: "invalid", problem: expect.stringContaining(reason) });
  });

  it("with front matter that takes long to check is none", () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => `key${index}: 1`);
    expect(read(`name: a\ndescription: b\n${keys.join("\n")}`)).toEqual({
      kind: "invalid",
      problem: expect.stringContaining("longer than 16384 characters"),
    });
  });

  it("without front matter or without a prompt is none", () => {
    const known = new Set(knownTools);
    expect(readAgentFile("# Notes", known)).toMatchObject({ problem: expect.stringContaining("two lines of ---") });
    expect(read("name: a\ndescription: b", "  ")).toMatchObject({ problem: expect.stringContaining("system prompt") });
  });

  it("may have the line ends and the mark of other editors", () => {
    const text = `\uFEFF${agent("windows").replaceAll("\n", "\r\n")}`;
    expect(readAgentFile(text, new Set())).toMatchObject({ agent: { name: "windows", prompt: "You are windows." } });
  });
});

describe("the folders", () => {
  it("are four, and of several agents with one name the first counts", () => {
    write("project/.autocoderagents/a.md", agent("translator", "first"));
    write("project/.auto-coder/.autocoderagents/a.md", agent("translator", "second"));
    write("project/.auto-coder/.autocoderagents/b.md", agent("writer", "second"));
    write("home/.auto-coder/.autocoderagents/b.md", agent("writer", "third"));
    write("home/.auto-coder/.autocoderagents/c.md", agent("reader", "third"));
    write("home/.auto-coder/.autocoderagents/repos/project/c.md", agent("reader", "fourth"));
    write("home/.auto-coder/.autocoderagents/repos/project/d.md", agent("editor", "fourth"));
    write("home/.auto-coder/.autocoderagents/repos/other/e.md", agent("stranger", "never"));
    write("project/.autocoderagents/notes.txt", "no agent");
    const found = open().list();
    expect(found.map(({ name, description }) => `${name}: ${description}`)).toEqual([
      "editor: fourth",
      "reader: third",
      "translator: first",
      "writer: second",
    ]);
    expect(logged).toEqual([]);
  });

  it("leave out what cannot be used, report file and reason once, and the next agent of that name counts", () => {
    write("project/.autocoderagents/a.md", agent("a", "first", "tools: fly\n"));
    write("home/.auto-coder/.autocoderagents/a.md", agent("a", "second"));
    write("project/.autocoderagents/big.md", agent("big") + "x".repeat(300 * 1024));
    mkdirSync(join(root, "project/.autocoderagents/folder.md"));
    const source = open();
    source.list();
    expect(source.list().map(({ description }) => description)).toEqual(["second"]);
    expect(
      logged.map(({ event, fields }) => [event, String(fields["file"]).slice(root.length), fields["reason"]]),
    ).toEqual([
      ["agent_file_skipped", "/project/.autocoderagents/a.md", "tools: there is no fly"],
      ["agent_file_skipped", "/project/.autocoderagents/big.md", expect.stringContaining("larger than")],
      ["agent_file_skipped", "/project/.autocoderagents/folder.md", "it is not a regular file"],
    ]);
  });

  it("may contain a link to itself, which hides no other agent and is logged once", () => {
    write("project/.autocoderagents/good.md", agent("good"));
    symlinkSync("round.md", join(root, "project/.autocoderagents/round.md"));
    const source = open();
    source.list();
    expect(source.list().map(({ name }) => name)).toEqual(["good"]);
    expect(logged).toEqual([
      { event: "agent_file_skipped", fields: expect.objectContaining({ reason: expect.stringContaining("ELOOP") }) },
    ]);
  });

  it("of the project do not lead out of it by a link; those of the user may", () => {
    write("elsewhere/a.md", agent("stranger"));
    write("elsewhere/b.md", agent("own"));
    mkdirSync(join(root, "project/.autocoderagents"), { recursive: true });
    mkdirSync(join(root, "home/.auto-coder/.autocoderagents"), { recursive: true });
    symlinkSync(join(root, "elsewhere/a.md"), join(root, "project/.autocoderagents/a.md"));
    symlinkSync(join(root, "elsewhere/b.md"), join(root, "home/.auto-coder/.autocoderagents/b.md"));
    expect(
      open()
        .list()
        .map(({ name }) => name),
    ).toEqual(["own"]);
    expect(logged).toMatchObject([{ fields: { reason: expect.stringContaining("leads out") } }]);
  });

  it("that cannot be read do not hide the others", () => {
    write("project/.autocoderagents", "a file where a folder is expected");
    write("home/.auto-coder/.autocoderagents/a.md", agent("a"));
    const source = open();
    source.list();
    expect(source.list().map(({ name }) => name)).toEqual(["a"]);
    expect(logged).toEqual([
      { event: "agent_folder_not_read", fields: expect.objectContaining({ reason: expect.any(String) }) },
    ]);
  });

  it("are looked at again each time: new, changed and removed files count at once", () => {
    const path = "project/.autocoderagents/a.md";
    const source = open();
    expect(source.list()).toEqual([]);
    write(path, agent("a", "one"));
    expect(source.list()).toMatchObject([{ description: "one" }]);
    write(path, agent("a", "two"));
    // The same size: only the time says that it has changed.
    utimesSync(join(root, path), new Date(), new Date(Date.now() + 5000));
    expect(source.list()).toMatchObject([{ description: "two" }]);
    rmSync(join(root, path));
    expect(source.list()).toEqual([]);
  });
});
