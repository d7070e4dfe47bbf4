import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { variableNames } from "@millrace/engine/config/config";
import { readManifest } from "@millrace/engine/manifest/manifest";
import { readAgentFile } from "../src/agents/agent-folders.ts";
import { readRuleFile } from "../src/user-rules/rule-file.ts";
import { programEnvironment } from "./support/processes/program.ts";
import { filesBelow, projectFolder } from "./support/source-files.ts";
import { startTestServer, type TestServer } from "./support/test-server.ts";

const read = (path: string): string => readFileSync(join(projectFolder, path), "utf8");

/** The code of a page, in the order in which it stands there. */
function blocksOf(page: string): { language: string; text: string }[] {
  return [...read(page).matchAll(/^```([a-z]+)\n([\s\S]*?)^```$/gmu)].map(([, language = "", text = ""]) => ({
    language,
    text,
  }));
}

const recipes = "tests/recipes.test.ts";
const readme = "tests/docs.test.ts";
const deployment = "tests/bin/deployment.test.ts";
const backups = "tests/storage/postgres/operation/backup-page.test.ts";
const aPackage = "tests/bin/package.test.ts";
const ofToolkit = (name: string, test: string): string => `toolkits/${name}/tests/${test}.test.ts`;
const times = (count: number, test: string): string[] => Array.from({ length: count }, () => test);

/**
 * What follows each block of code of each page: another test, or one of this file: `commands` (programs, options and
 * variables are there), `session` (it is pasted into a shell), `script` (it is run), `manifest`, `agent`, `rule`.
 */
const followed: Readonly<Record<string, readonly string[]>> = {
  "README.md": ["commands", "commands", "commands", ...times(6, readme)],
  "CONTRIBUTING.md": times(16, recipes),
  "docs/api/a2a.md": ["session", "script"],
  "docs/api/mcp-server.md": ["session", "tests/http/clients/mcp.test.ts"],
  "docs/api/openai.md": ["script", ...times(2, "tests/http/clients/openai-responses.test.ts")],
  "docs/api/protocol.md": ["script"],
  "docs/assistant/assistant.md": ["agent", "rule"],
  "docs/assistant/providers.md": ["tests/models/registry.test.ts", "commands"],
  "docs/graphs/graphs.md": ["commands", "manifest"],
  "docs/graphs/store.md": ["manifest"],
  "docs/operate/configuration.md": ["commands"],
  "docs/operate/operations.md": [
    deployment,
    "commands",
    "session",
    deployment,
    "session",
    "commands",
    "commands",
    "commands",
    deployment,
    "commands",
    "commands",
    "commands",
  ],
  "docs/operate/outgrowing-one-file.md": [
    "commands",
    "commands",
    "commands",
    "commands",
    "commands",
    backups,
    backups,
    deployment,
  ],
  "docs/start/command.md": times(3, "commands"),
  "docs/start/package.md": ["commands", "commands", ...times(4, aPackage)],
  "docs/toolkits/circuits.md": ["commands", ...times(3, ofToolkit("circuits", "circuits-page"))],
  "docs/toolkits/code.md": times(8, ofToolkit("shell", "code-page")),
  "docs/toolkits/documents.md": times(7, ofToolkit("documents", "documents-page")),
  "docs/toolkits/mcp.md": times(3, ofToolkit("mcp", "guide")),
  "docs/toolkits/memory.md": times(3, ofToolkit("memory", "memory-page")),
  "docs/toolkits/planner.md": times(2, ofToolkit("planner", "planner-page")),
  "docs/toolkits/semantic-search.md": times(3, ofToolkit("semantic-search", "semantic-search-page")),
};

/** Every block that is followed in this way. */
function blocksBy(way: string): { page: string; language: string; text: string }[] {
  return Object.entries(followed).flatMap(([page, ways]) =>
    existsSync(join(projectFolder, page))
      ? blocksOf(page).flatMap((block, index) => (ways[index] === way ? [{ page, ...block }] : []))
      : [],
  );
}

describe("the code of the pages", () => {
  it("is followed by a test, block by block", () => {
    const pages = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", ...filesBelow("docs", ".md")];
    const counts = pages.map((page) => [page, blocksOf(page).length] as const).filter(([, count]) => count > 0);
    const present = Object.entries(followed).filter(([page]) => existsSync(join(projectFolder, page)));
    expect(Object.fromEntries(counts)).toEqual(Object.fromEntries(present.map(([page, ways]) => [page, ways.length])));
    expect(
      pages.filter((page) => blocksOf(page).length !== (read(page).match(/^\s*```[a-z]/gmu)?.length ?? 0)),
    ).toEqual([]);
    const tests = new Set(present.flatMap(([, ways]) => ways).filter((way) => way.endsWith(".ts")));
    expect([...tests].filter((test) => !existsSync(join(projectFolder, test)))).toEqual([]);
  });

  it("names a page in each test that follows it alone", () => {
    const alone = Object.entries(followed).filter(
      ([page, ways]) =>
        existsSync(join(projectFolder, page)) && /-page\.test\.ts$|guide\.test\.ts$/u.test(ways.at(-1) ?? ""),
    );
    expect(alone.length).toBeGreaterThan(0);
    for (const [page, ways] of alone) expect(read(ways.at(-1) ?? ""), page).toContain(page);
  });
});

/** The simple commands of a block, each as its words; variables that are set before one are words of their own. */
function commandsOf(text: string): string[][] {
  const lines = text
    .replaceAll(/\\\n/gu, " ")
    .replaceAll(/^source <\((.*?)\)/gmu, "$1")
    .split("\n");
  return lines.flatMap((line) => {
    const commands: string[][] = [[]];
    for (const [word] of line.matchAll(/[A-Z_]+="[^"]*"|"[^"]*"|'[^']*'|\S+/gu)) {
      if (word.startsWith("#")) break;
      if (word === "&&" || word === "|" || word === ";") commands.push([]);
      else commands.at(-1)?.push(word);
    }
    return commands.filter((words) => words.length > 0);
  });
}

/** Programs that are not ours, and words of the shell. */
const others = new Set(
  "cd cp createdb curl docker export git grep jq journalctl mkdir pg_dump pg_restore psql source unset".split(" "),
);
/** Scripts that are commands of `millrace`. */
const maintenance = new Set(["backup", "restore", "prune", "verify"]);
const npmCommands = new Set(["start", "test", "ci", "install"]);
const isVariable = (name: string): boolean =>
  variableNames.includes(name.replace(/_FILE$/u, "")) || /^[A-Z]+_API_KEY$|^POSTGRES_PASSWORD$/u.test(name);

/** The words behind `millrace` of a command that starts it; `undefined` for another one. */
function wordsOfMillrace([program = "", ...words]: string[]): string[] | undefined {
  if (program === "millrace") return words;
  if (program === "npx" && words[0] === "millrace") return words.slice(1);
  return program === "node" && words[0]?.endsWith("bin/millrace.cjs") === true ? words.slice(1) : undefined;
}

async function run(command: string, words: string[], cwd: string): Promise<{ code: unknown; out: string }> {
  const child = spawn(command, words, { cwd, env: programEnvironment, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (out += String(part)));
  const [code] = await once(child, "close");
  return { code, out };
}

describe("the commands of the pages", () => {
  const scripts: Record<string, string> = JSON.parse(read("package.json")).scripts;
  const help = new Map<string, Promise<string>>();
  const helpOf = (command: string): Promise<string> => {
    const known =
      help.get(command) ??
      run(process.execPath, ["bin/millrace.cjs", "help", command], projectFolder).then(({ out }) => out);
    help.set(command, known);
    return known;
  };

  /** What of a command of ours, behind `millrace`, is not there. */
  async function unknownOptions(name: string, words: readonly string[]): Promise<string[]> {
    const known = await helpOf(name);
    if (!known.startsWith("Usage:")) return [`no command ${name}`];
    const options = words.filter((word) => /^--?[a-z]/u.test(word)).map((word) => word.split("=", 1)[0] ?? "");
    const isKnown = (option: string): boolean => known.split(/[\s,]+/u).includes(option);
    return options.filter((option) => !isKnown(option)).map((option) => `no option ${option}`);
  }

  /** What of a simple command is not there. */
  async function problemsOf(words: readonly string[]): Promise<string[]> {
    const first = words.findIndex((word) => word !== "export" && word !== "unset" && !/^[A-Z_]+=/u.test(word));
    const command = first === -1 ? [] : words.slice(first);
    const set = words.filter((word) => /^[A-Z_]+=/u.test(word)).map((word) => word.split("=", 1)[0] ?? "");
    const variables = set.filter((name) => !isVariable(name)).map((name) => `no variable ${name}`);
    const [program = "", what = "", script = "", ...given] = command;
    const ours = wordsOfMillrace(command);
    if (ours !== undefined) {
      const name = ours.find((word) => !word.startsWith("-")) ?? "start";
      return [...variables, ...(await unknownOptions(name, ours))];
    }
    if (program === "npm" && what === "run") {
      const options = maintenance.has(script) ? await unknownOptions(script, given) : [];
      return [...variables, ...(script in scripts ? options : ["no such script"])];
    }
    const isThere = program === "npm" ? npmCommands.has(what) : program === "" || others.has(program);
    return [...variables, ...(isThere || /^[A-Z_]+$/u.test(program) ? [] : ["no such program"])];
  }

  it("are there, with their options and their variables", async () => {
    const blocks = Object.keys(followed)
      .filter((page) => existsSync(join(projectFolder, page)))
      .flatMap((page) => blocksOf(page).map((block) => ({ page, ...block })))
      .filter(({ language, text }) => language === "sh" && !text.includes("curl "));
    expect(blocks.length).toBeGreaterThan(20);
    const commands = blocks.flatMap(({ page, text }) => commandsOf(text).map((words) => ({ page, words })));
    const wrong = commands.map(async ({ page, words }) =>
      (await problemsOf(words)).map((problem) => `${page}: ${words.join(" ")}: ${problem}`),
    );
    expect((await Promise.all(wrong)).flat()).toEqual([]);
  });

  it("would be reported if they were not", async () => {
    expect(commandsOf("A=1 millrace run --json \"a | b\" | jq -r 'x'   # why\nnpm ci && npm test")).toEqual([
      ["A=1", "millrace", "run", "--json", '"a | b"'],
      ["jq", "-r", "'x'"],
      ["npm", "ci"],
      ["npm", "test"],
    ]);
    for (const [command, problem] of [
      ["millrace strat", "no command strat"],
      ["MILLRACE_MODLE=x npx millrace run --jsn x", "no variable MILLRACE_MODLE,no option --jsn"],
      ["npm run prune -- --older 1d", "no option --older"],
      ["npm run prnue", "no such script"],
      ["mllrace start", "no such program"],
    ] as const) {
      const problems = (await Promise.all(commandsOf(command).map(problemsOf))).flat();
      expect(problems.join()).toBe(problem);
    }
    expect(isVariable("MILLRACE_API_KEYS_FILE") && !isVariable("MILLRACE_MODLE")).toBe(true);
  });
});

describe("what is pasted and run", () => {
  const printed = "http://127.0.0.1:2024";
  let server: TestServer;
  let folder = "";
  beforeAll(async () => {
    server = await startTestServer({ graphs: join(projectFolder, "langgraph.json") });
    folder = mkdtempSync(join(tmpdir(), "millrace-pages-"));
    symlinkSync(join(projectFolder, "node_modules"), join(folder, "node_modules"));
    mkdirSync(join(server.config.workspace, "old"));
    writeFileSync(join(server.config.workspace, "old/note.md"), "old");
  });
  afterAll(async () => {
    await server.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What the answer to each session has, in the order of the pages. */
  const answers = [/input-required/u, /"content":\[\{"type":"text"/u, /\{"status":"ready"\}/u, /"owner":null.*"left"/u];

  it("in a shell answers what the page says", async () => {
    const sessions = blocksBy("session");
    expect(sessions).toHaveLength(answers.length);
    for (const [index, { page, text }] of sessions.entries()) {
      const { code, out } = await run("bash", ["-euo", "pipefail", "-c", text.replaceAll(printed, server.url)], folder);
      expect([page, code, out]).toEqual([page, 0, expect.stringMatching(answers[index] ?? /^$/u)]);
    }
  });

  it.each(blocksBy("script"))("as a program does its work: $page", async ({ language, text }) => {
    const file = `example.m${language}`;
    writeFileSync(join(folder, file), text.replaceAll(printed, server.url));
    const { code, out } = await run(process.execPath, [file], folder);
    expect([code, out]).toEqual([0, expect.stringMatching(/\S{5}/u)]);
  });

  it.each(blocksBy("manifest"))("as a langgraph.json is one: $page", async ({ text }) => {
    const file = join(folder, "langgraph.json");
    writeFileSync(file, JSON.stringify({ graphs: {}, ...JSON.parse(text) }));
    expect(await readManifest(file)).toMatchObject({ folder });
  });

  it("as a file of an agent, or of a rule, is read", () => {
    const [agent] = blocksBy("agent");
    const tools = ["read_file", "search_content"];
    expect(readAgentFile(agent?.text ?? "", new Set(tools))).toMatchObject({
      kind: "agent",
      agent: { name: "reviewer", tools },
    });
    const [rule] = blocksBy("rule");
    expect(readRuleFile(rule?.text ?? "", "python.md")).toMatchObject({ globs: ["**/*.py"], problems: [] });
  });
});
