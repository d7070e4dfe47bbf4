import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { en } from "../console/text/en.ts";
import { workEn } from "../console/text/inspector/en.ts";
import { manageEn } from "../console/text/manage/en.ts";
import {
  filesBelow,
  importedFile,
  parseSource,
  projectFolder,
  readSource,
  sourceFiles,
  type SourceFile,
} from "./support/source-files.ts";

/**
 * The arrows of ARCHITECTURE.md as data: a package imports only from those named here. Within the app, a unit is a folder
 * of `src/` or a file at its root; an import goes to the same unit or to a lower layer, never up and never to a neighbour
 * of the same layer.
 */
const packages: Record<string, readonly string[]> = {
  engine: [],
  models: ["engine"],
  offline: ["engine"],
  testing: ["engine"],
};
const layers: string[][] = [
  ["server"],
  ["http"],
  ["sessions"],
  ["agent-runs"],
  ["graph"],
  ["nodes"],
  ["loop"],
  ["toolkits"],
  ["context"],
  ["guardrails"],
  ["user-rules"],
  ["tools"],
  ["agents", "live-settings"],
  ["prompts", "extensions"],
  ["callbacks", "events"],
  ["state"],
  ["user-context"],
];

/** What only some may import, because knowing it is their job. */
const reserved: { what: RegExp; only: RegExp; why: string }[] = [
  {
    what: /^packages\/engine\/src\/storage\/sqlite\//,
    only: /^packages\/engine\/src\/(server\.ts|storage\/sqlite\/)/,
    why: "only server.ts chooses a storage",
  },
  {
    what: /^(better-sqlite3|@langchain\/langgraph-checkpoint-sqlite)/,
    only: /^packages\/engine\/src\/storage\/sqlite\//,
    why: "no module outside storage/sqlite/ knows SQL",
  },
  {
    what: /^packages\/engine\/src\/storage\/postgres\//,
    only: /^packages\/engine\/src\/(server\.ts|storage\/postgres\/)/,
    why: "only server.ts chooses the storage",
  },
  {
    what: /^pg$/,
    only: /^packages\/engine\/src\/storage\/postgres\/database\//,
    why: "only storage/postgres/ knows PostgreSQL",
  },
  {
    what: /^(hono|@hono|hono-openapi)\b/,
    only: /^(src|packages\/engine\/src)\/(server\.ts|http\/)|^toolkits\/[^/]+\/routes\//,
    why: "nothing below http/ knows HTTP",
  },
  { what: /^@langchain\/(openai|ollama)/, only: /^packages\/models\//, why: "only models/ knows the providers" },
  {
    what: /^@modelcontextprotocol\//,
    only: /^(toolkits\/mcp\/|packages\/engine\/src\/http\/(routes\/assistants\/)?mcp(\/|\.ts))/,
    why: "only what speaks MCP knows its SDK",
  },
  { what: /^@a2a-js\//, only: /^packages\/engine\/src\/http\/a2a\//, why: "only http/a2a/ knows the SDK of A2A" },
  {
    what: /^@opentelemetry\/|^packages\/engine\/src\/telemetry\/(exporters|metric-data|run-tracer|span-handler)\.ts/,
    only: /^packages\/engine\/src\/telemetry\//,
    why: "nothing of OpenTelemetry is loaded where nothing is exported",
  },
  { what: /^src\/server\.ts/, only: /^$/, why: "no module imports the entry" },
  {
    what: /^tests\/|^packages\/testing\//,
    only: /^packages\/testing\//,
    why: "sources never import what is for tests",
  },
];

/** Lists, where each file is one of many of a kind; other folders hold at most `maxFiles`. */
const pluginLists =
  /^(src\/(http\/routes|prompts\/templates)|packages\/engine\/src\/storage\/(sqlite|postgres)\/migrations|tests\/fixtures\/graphs|docs\/decisions)$/;
const maxFiles = 15;
/** The number of a requirement, or another document of those who wrote the program. */
const citation =
  /\b(ARCH|API|CFG|CIRC|CLAR|CODE|COMP|CONF|CTX|DECOMP|DOC|ERR|EVENT|EXT|GUARD|LLM|LOOP|MEM|MSG|PERF|PLANNER|PROMPT|PRUNE|QUEUE|RULE|SEARCH|SEC|SESS|STATE|STOP|SVC|TASK|TOKEN|TOOL|TRACE|XML|AGENT)-\d\d\b|\btable 18\.|\bwire contract\b|\b(reliability|design|performance)\.md\b/;
/** Words that hide who does what. */
const unclearWords = /\b(nobody|somebody|whoever|whom|(is|are|was|were) told)\b/iu;
/** A migration begins with its number, which is its order. */
const migration = /^packages\/engine\/src\/storage\/(sqlite|postgres)\/migrations\/\d{3}-[a-z-]+\.ts$/;
const forbiddenNames = ["utils", "util", "helpers", "helper", "common", "core", "types", "lib", "services", "misc"];
/** `services.ts` of the loop is a noun of its own: what the server lends to a run. */
const allowedNames = new Set(["src/loop/services.ts"]);

/** The package that a file is of; `app` is the one at the root, with the agent. */
function packageOf(path: string): string {
  const [folder, name = ""] = path.split("/");
  return folder === "packages" ? name : folder === "toolkits" ? `toolkits/${name}` : "app";
}

function unitOf(path: string): string {
  const [folder, name = "", , below = ""] = path.split("/");
  if (folder === "toolkits") return `toolkits/${name}`;
  return folder === "packages" ? `${name}/${below.replace(/\.ts$/, "")}` : name.replace(/\.ts$/, "");
}

function layerOf(unit: string): number {
  return layers.findIndex((layer) => layer.includes(unit));
}

function importProblems(file: SourceFile): string[] {
  return file.imports.flatMap((request) => {
    const target = importedFile(file.path, request);
    const rule = reserved.find(({ what, only }) => what.test(target ?? request) && !only.test(file.path));
    if (rule !== undefined) return [`${file.path} imports ${request}: ${rule.why}`];
    if (target === undefined || unitOf(target) === unitOf(file.path)) return [];
    const [from, to] = [packageOf(file.path), packageOf(target)];
    if (from === "app" && to.startsWith("toolkits/")) {
      return file.path === "src/toolkits/index.ts"
        ? []
        : [`${file.path} imports ${target}: only the list of toolkits knows one by name`];
    }
    if (from.startsWith("toolkits/") && !to.startsWith("toolkits/")) return [];
    if (from !== to && from !== "app" && packages[from]?.includes(to) !== true) {
      return [`${file.path} imports ${target}: ${from} knows nothing of ${to}`];
    }
    if (from !== "app" || to !== "app") return [];
    if (!target.endsWith(".ts") && !target.endsWith(".json")) return [`${file.path}: ${request} lacks its .ts ending`];
    return layerOf(unitOf(target)) > layerOf(unitOf(file.path)) || target === "package.json"
      ? []
      : [`${file.path} imports ${target}: that arrow does not go down`];
  });
}

function shapeProblems(file: SourceFile): string[] {
  const names = file.path
    .replace(/\.ts$/, "")
    .replace(/^(packages|toolkits)\/[^/]+\//, "")
    .split("/")
    .slice(file.path.startsWith("toolkits/") ? 0 : 1);
  const problems: string[] = [];
  if (packageOf(file.path) === "app" && layerOf(unitOf(file.path)) < 0)
    problems.push(`${file.path}: no layer is known for ${unitOf(file.path)}`);
  if (names.length > 4) problems.push(`${file.path}: too deep`);
  if (!migration.test(file.path) && !names.every((name) => /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)))
    problems.push(`${file.path}: not kebab-case`);
  if (names.some((name) => forbiddenNames.includes(name)) && !allowedNames.has(file.path)) {
    problems.push(`${file.path}: ${forbiddenNames.join(", ")} say nothing; name the file after what it is about`);
  }
  const longest = /^src\/(loop|guardrails)\//.test(file.path) ? 200 : 300;
  if (file.lines > longest) problems.push(`${file.path}: ${file.lines} lines, the limit is ${longest}`);
  return problems;
}

/** Folders with more files than a reader overlooks. */
function fullFolders(paths: readonly string[]): string[] {
  const folders = Map.groupBy(paths, (path) => path.slice(0, path.lastIndexOf("/")));
  return [...folders.entries()]
    .filter(([folder, inside]) => inside.length > maxFiles && !pluginLists.test(folder))
    .map(([folder, inside]) => `${folder}: ${inside.length} files; give it rooms of its own`);
}

function exportProblems(file: SourceFile): string[] {
  return file.exports.flatMap((exported) => {
    if (exported.kind !== "named") return [`${file.path}: a ${exported.kind} export; every export has a name`];
    // A type read off a schema or list is documented there.
    const derived =
      exported.isType && /^export type \w+ =\s*(z\.(infer|input|output)<typeof|\(?typeof) ?/.test(exported.text);
    const typeOfValue =
      exported.isType &&
      file.exports.some((other) => other.name === exported.name && !other.isType && other.documented);
    return exported.documented || derived || typeOfValue ? [] : [`${file.path}: ${exported.name} has no doc comment`];
  });
}

/** An `index.ts` is a list: imports, and literals that hold what was imported. */
function listProblems(file: SourceFile): string[] {
  if (!file.path.endsWith("/index.ts")) return [];
  const logic = /=>|\bfunction\b|\bclass\b|\bif\b|\bfor\b|\breturn\b/.exec(withoutComments(file.text));
  return logic === null ? [] : [`${file.path}: holds logic (${logic[0]}); an index is only a list`];
}

/** A program gets its arguments as a list: through a shell, a part of a value could become a command (AGENT-07). */
function shellProblems(file: SourceFile): string[] {
  const text = withoutComments(file.text);
  if (!file.imports.includes("node:child_process")) return [];
  const taken = /import \{([^}]*)\} from "node:child_process"/.exec(text)?.[1]?.split(",") ?? [];
  const others = taken.map((name) => name.trim()).filter((name) => !/^(spawn|type \w+|)$/.test(name));
  const problems = others.map((name) => `${file.path}: ${name}; only spawn takes a list and no shell`);
  return /\bshell:/.test(text) ? [...problems, `${file.path}: starts a shell`] : problems;
}

/** Units that meet what users' graphs make, with whichever copy of LangChain; the others see only what our own graph makes. */
const meetsUsers = /^src\/(agent-runs|crons|graph|http|runs|sessions)\/|^src\/loop\/progress\.ts|^packages\/engine\//;

/** What sees only messages of our copy, or hands others on to who knows them. */
const knowsOwnCopy = new Set(["src/graph/workflow.ts", "packages/engine/src/message-list.ts"]);

/** A message is known by what it is: a user's folder may have a copy of LangChain of its own, whose classes are others. */
function recognitionProblems(file: SourceFile): string[] {
  if (!meetsUsers.test(file.path) || knowsOwnCopy.has(file.path)) return [];
  const text = withoutComments(file.text);
  const taken = /import \{([^}]*)\} from "@langchain\/core\/messages"/.exec(text)?.[1]?.split(",") ?? [];
  const guards = taken.map((name) => name.trim()).filter((name) => /^is[A-Z]/.test(name));
  const byClass = text.match(/\w+Message(Chunk)?\.isInstance|instanceof \w+Message(Chunk)?\b/g) ?? [];
  return [...guards, ...byClass].map((what) => `${file.path}: ${what}; message-kinds.ts knows messages of any copy`);
}

/**
 * Who may write for runs, for calls by hand and into the states of sessions, and where the writes without a fence stand.
 * All other modules get what is written for a run from the run, so that no write can miss the fence.
 */
const writers: { what: RegExp; only: RegExp }[] = [
  { what: /\.attempt\(/, only: /^packages\/engine\/src\/runs\/(active-run|dispatch)\.ts$/ },
  { what: /\.(re)?claim\(/, only: /^packages\/engine\/src\/runs\/dispatch\.ts$/ },
  { what: /\b(webhooks|store)\.take\(/, only: /^packages\/engine\/src\/runs\/webhook-sender\.ts$/ },
  { what: /\bevents\.follow\(/, only: /^packages\/engine\/src\/runs\/follow\/follow\.ts$/ },
  { what: /\.manualCalls\b/, only: /^src\/(server|sessions\/manual\/manual-run)\.ts$/ },
  {
    what: /(?<!function )\b(storeEvents|reserveIds|endRun|parkRun|createLedger|createOperationStore)\(/,
    only: /^packages\/engine\/src\/storage\/(sqlite\/(storage|checkpoints\/checkpointer)|postgres\/(storage|run-records\/attempt))\.ts$/,
  },
  {
    what: /\b(saver|checkpointer)\.(put|putWrites|deleteThread|deleteRun)\(/i,
    only: /^packages\/engine\/src\/(graphs\/(changed|served)-graph|runs\/status|sessions\/state\/.*)\.ts$|^src\/sessions\/messages\/import\.ts$/,
  },
];

function writeProblems({ path, text }: Pick<SourceFile, "path" | "text">): string[] {
  const code = withoutComments(text);
  return writers
    .filter(({ what, only }) => what.test(code) && !only.test(path))
    .map(({ what }) => `${path}: ${what.exec(code)?.[0]} is not for it; the run at work has what writes for it`);
}

/** Comments that a reader has to decode: they need a subject, a verb and the terms of the field. */
function wordProblems({ path, text }: Pick<SourceFile, "path" | "text">): string[] {
  const comments = text.match(/\/\*[\s\S]*?\*\/|(?<![:"'`])\/\/.*$/gm) ?? [];
  return comments.flatMap((comment) => {
    const word = unclearWords.exec(comment)?.[0];
    return word === undefined ? [] : [`${path}: a comment says "${word}"; name the caller, reader, owner or event`];
  });
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/\/\/.*$/gm, "");
}

/** The tests and their support, with those of the toolkits. */
function testPaths(): string[] {
  return [...filesBelow("tests"), ...filesBelow("toolkits").filter((path) => path.includes("/tests/"))];
}

function consolePaths(): string[] {
  const paths = [...filesBelow("console", ".ts"), ...filesBelow("console", ".tsx")];
  return paths.filter((path) => !path.includes("node_modules"));
}

/** The names of texts in a catalogue of the console. */
function textNames(texts: object, before = ""): string[] {
  return Object.entries(texts).flatMap(([name, text]: [string, unknown]) =>
    typeof text === "object" && text !== null ? textNames(text, `${before}${name}.`) : [`${before}${name}`],
  );
}

const files = sourceFiles().map(readSource);

/** Files that import one another over any number of steps, each ring as its way. */
function ringsIn(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const rings: string[] = [];
  const follow = (path: string, way: readonly string[]): void => {
    const at = way.indexOf(path);
    if (at >= 0) rings.push([...way.slice(at), path].join(" → "));
    if (at >= 0 || done.has(path)) return;
    for (const next of imports.get(path) ?? []) follow(next, [...way, path]);
    done.add(path);
  };
  for (const path of imports.keys()) follow(path, []);
  return rings;
}

describe("the architecture", () => {
  it("finds a ring over three files", () => {
    const imports = new Map([
      ["a", ["b"]],
      ["b", ["c", "d"]],
      ["c", ["a"]],
      ["d", []],
    ]);
    expect(ringsIn(imports)).toEqual(["a → b → c → a"]);
  });

  it("has sources to check", () => {
    expect(files.length).toBeGreaterThan(40);
  });

  it("lets imports go down only", () => {
    expect(files.flatMap(importProblems)).toEqual([]);
  });

  it("has no rings of imports, by types neither", () => {
    const imports = new Map(
      files.map((file) => [file.path, file.imports.flatMap((request) => importedFile(file.path, request) ?? [])]),
    );
    expect(ringsIn(imports)).toEqual([]);
  });

  it("has one way to write for a run, one by hand, and few that write the states of sessions", () => {
    expect(files.flatMap(writeProblems)).toEqual([]);
    const past = ["storage.attempt(run).finish(end)", "manualCalls.ledger.start(call)", "storage.runs.claim(id)"];
    const found = past.flatMap((text) => writeProblems({ path: "src/nodes/new.ts", text: `x.${text}` }));
    expect(found).toHaveLength(past.length);
  });

  it("imports only files that exist", () => {
    const known = new Set([...files.map(({ path }) => path), "package.json"]);
    const missing = files.flatMap((file) =>
      file.imports
        .map((request) => importedFile(file.path, request))
        .filter((target) => target !== undefined && !known.has(target))
        .map((target) => `${file.path} imports ${target}`),
    );
    expect(missing).toEqual([]);
  });

  it("keeps files small, shallow and named after something", () => {
    expect(files.flatMap(shapeProblems)).toEqual([]);
  });

  it("has no folder with too many files", () => {
    const paths = [...files.map(({ path }) => path), ...testPaths(), ...filesBelow("docs", ".md")];
    expect(fullFolders(paths)).toEqual([]);
  });

  it("cites no document that is not in the repository", () => {
    // That one lists the requirements by their numbers.
    const docs = filesBelow("docs", ".md").filter((path) => path !== "docs/requirements.md");
    const pages = [...docs, "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", ".env.example"];
    const texts = [...files.map(({ path }) => path), ...pages];
    expect(texts.filter((path) => citation.test(readFileSync(join(projectFolder, path), "utf8")))).toEqual([]);
  });

  it("names who does what in comments", () => {
    // This file has the words in its examples.
    const others = [...consolePaths(), ...testPaths()].filter((path) => path !== "tests/architecture.test.ts");
    const texts = others.map((path) => ({ path, text: readFileSync(join(projectFolder, path), "utf8") }));
    expect([...files, ...texts].flatMap(wordProblems)).toEqual([]);
    const unclear = ["// Nobody reads it.", "/** The caller\n * is told of it. */", "call(); // whoever waits"];
    expect(unclear.flatMap((text) => wordProblems({ path: "src/a.ts", text }))).toHaveLength(unclear.length);
    expect(wordProblems({ path: "src/a.ts", text: 'say("nobody"); // The reader gets it.' })).toEqual([]);
  });

  it("has no text of the console that no page shows", () => {
    const pages = consolePaths().filter((path) => !/^console\/text\/.*(en|zh)\.ts$/u.test(path));
    const shown = pages.map((path) => readFileSync(join(projectFolder, path), "utf8")).join("\n");
    // Some names end with what is only known when they are shown: `status.${status}`.
    const beginnings = [...shown.matchAll(/`([\w.:]+\.)\$\{/gu)].map(([, beginning = ""]) => beginning);
    const isShown = (name: string): boolean =>
      shown.includes(name) || beginnings.some((beginning) => name.startsWith(beginning.replace(/^\w+:/u, "")));
    const names = [...textNames(en), ...textNames(workEn), ...textNames(manageEn)].map((name) =>
      name.replace(/_(one|other)$/u, ""),
    );
    expect(names).toContain("app.name");
    expect(names.filter((name) => !isShown(name))).toEqual([]);
  });

  it("exports by name, and says what each export is", () => {
    expect(files.flatMap(exportProblems)).toEqual([]);
  });

  it("keeps logic out of the lists", () => {
    expect(files.flatMap(listProblems)).toEqual([]);
  });

  it("starts programs without a shell (AGENT-07)", () => {
    expect(files.filter(({ imports }) => imports.includes("node:child_process")).length).toBeGreaterThan(0);
    expect(files.flatMap(shellProblems)).toEqual([]);
  });

  it("knows messages by what they are", () => {
    expect(files.flatMap(recognitionProblems)).toEqual([]);
  });

  it("asks others over the network only in the units whose job that is (ARCH-07)", () => {
    const asking = files.filter(({ text, imports }) => {
      const isAsking = /\bfetch\(/.test(withoutComments(text));
      return isAsking || imports.some((name) => /^(undici|node:https?|node:net|node:tls|ws)$/.test(name));
    });
    const units = new Set(asking.map(({ path }) => unitOf(path)));
    // Toolkits may be deleted, so only those that are there are looked at.
    const isThere = (unit: string): boolean =>
      !unit.startsWith("toolkits/") || files.some(({ path }) => path.startsWith(unit));
    const ofModels = ["models/choose-model", "models/registry", "models/resilience"];
    expect([...units].filter((unit) => !unit.startsWith("testing/")).toSorted()).toEqual(
      [
        "engine/http",
        "engine/manifest",
        "engine/net",
        "engine/server",
        ...ofModels,
        "toolkits/documents",
        "toolkits/mcp",
        "toolkits/planner",
      ].filter(isThere),
    );
    const documents = asking.map(({ path }) => path).filter((path) => path.startsWith("toolkits/documents/"));
    // It takes the network away from what reads a document.
    expect(documents.filter((path) => !path.endsWith("/document-worker.ts"))).toEqual([]);
  });

  it("keeps what vendors say, and calls written as text, inside of models/ (ARCH-09)", () => {
    const inside = /^packages\/models\/src\/(vendors|text-calls)\//;
    const knowing = files.filter((file) =>
      file.imports.some((request) => inside.test(importedFile(file.path, request) ?? "")),
    );
    expect(knowing.length).toBeGreaterThan(5);
    expect(knowing.filter(({ path }) => !path.startsWith("packages/models/src/"))).toEqual([]);
  });

  it("keeps sessions, messages and the store apart (ARCH-06)", () => {
    const sessions = /^(packages\/engine\/)?src\/sessions\//;
    const messages = /^(packages\/engine\/)?src\/sessions\/messages\/(message-fields|stored-message|display)\.ts$/;
    const store = /^packages\/engine\/src\/storage\//;
    const importing = (paths: RegExp, what: RegExp): string[] =>
      files
        .filter(({ path }) => paths.test(path))
        .flatMap((file) => file.imports.map((request) => [file.path, importedFile(file.path, request) ?? request]))
        .filter(([, target = ""]) => what.test(target))
        .map(([path = "", target = ""]) => `${path} imports ${target}`);
    expect(files.filter(({ path }) => messages.test(path))).toHaveLength(3);
    expect(importing(sessions, /^node:(fs|child_process|net|http)|sqlite/)).toEqual([]);
    expect(importing(messages, /\/storage\/(?!records\.ts)|\/sessions\/(?!messages\/|overview\/suggestions)/)).toEqual(
      [],
    );
    expect(importing(store, /\/(sessions|runs|graphs|http)\/|^@langchain\/langgraph$/)).toEqual([]);
  });

  it("keeps tools out of what parses, runs and reports their calls (ARCH-10)", () => {
    const tools = files.filter(({ text }) => /= defineTool\(/.test(withoutComments(text)));
    const names = tools.flatMap(({ text }) => /^ {2}name: "(\w+)",$/m.exec(text)?.[1] ?? []);
    expect(names.length).toBeGreaterThan(30);
    const ofCalls =
      /^src\/(loop\/(call-tool|approve-call)\.ts|loop\/tool-call\/|tools\/runtime\/|agent-runs\/)|^packages\/(models\/src\/text-calls|engine\/src)\//;
    const parts = files.filter(({ path }) => ofCalls.test(path));
    expect(parts.length).toBeGreaterThan(30);
    const toolPaths = new Set(tools.map(({ path }) => path));
    const known = parts.flatMap((file) =>
      [
        ...file.imports.filter((request) => toolPaths.has(importedFile(file.path, request) ?? "")),
        ...names.filter((name) => withoutComments(file.text).includes(`"${name}"`)),
      ].map((what) => `${file.path} knows ${what}`),
    );
    expect(known).toEqual([]);
  });

  it("has no ring of imports", () => {
    expect(rings(files)).toEqual([]);
  });
});

describe("the checks themselves", () => {
  it.each([
    ["src/tools/files/read.ts", `import { Runs } from "../../runs/runs.ts";`, "does not go down"],
    [
      "packages/models/src/provider.ts",
      `import { tools } from "../../../src/tools/index.ts";`,
      "models knows nothing of app",
    ],
    [
      "packages/models/src/index.ts",
      `import { offline } from "@millrace/offline/offline";`,
      "models knows nothing of offline",
    ],
    ["src/server.ts", `import { freePort } from "@millrace/testing/free-port";`, "what is for tests"],
    [
      "packages/engine/src/runs/runs.ts",
      `const open = await import("@millrace/engine/storage/sqlite/storage");`,
      "only server.ts chooses",
    ],
    ["packages/engine/src/runs/runs.ts", `import Database from "better-sqlite3";`, "knows SQL"],
    ["packages/engine/src/server.ts", `import { trace } from "@opentelemetry/api";`, "nothing of OpenTelemetry"],
    ["packages/engine/src/storage/sqlite/storage.ts", `import pg from "pg";`, "knows PostgreSQL"],
    ["src/loop/loop.ts", `export { Hono } from "hono";`, "knows HTTP"],
    ["src/http/agent-http.ts", `import { loop } from "../loop/loop";`, "lacks its .ts ending"],
    ["packages/engine/src/logger.ts", `import { loop } from "../../../src/loop/loop.ts";`, "knows nothing of app"],
  ])("refuse in %s: %s", (path, text, expected) => {
    expect(importProblems(parseSource(path, text)).join("\n")).toContain(expected);
  });

  it.each([
    ["src/nodes/plan.ts", `import type { RunEvent } from "../events.ts";`],
    ["packages/engine/src/server.ts", `import { openStorage } from "./storage/sqlite/storage.ts";`],
    ["packages/engine/src/runs/attempt/execute.ts", `import { AppError } from "../../errors/errors.ts";`],
  ])("allow in %s: %s", (path, text) => {
    expect(importProblems(parseSource(path, text))).toEqual([]);
  });

  it("refuse a default export, a star export and an export without a comment", () => {
    const file = parseSource("src/loop/a.ts", `export default 1;\nexport * from "./b.ts";\nexport const c = 1;`);
    expect(exportProblems(file)).toHaveLength(3);
  });

  it("accept a documented export and the type of a documented schema", () => {
    const text = `/** What it is. */\nexport const Run = z.object({});\nexport type Run = z.infer<typeof Run>;`;
    expect(exportProblems(parseSource("src/loop/a.ts", text))).toEqual([]);
  });

  it("refuse logic in a list", () => {
    expect(listProblems(parseSource("src/tools/index.ts", "export const find = () => 1;"))).toHaveLength(1);
  });

  it("refuse a folder that is too deep, a name that says nothing and a long file", () => {
    const problems = ["src/loop/a/b/c/d.ts", "src/loop/helpers.ts", "src/loop/aB.ts", "src/new/a.ts"].map((path) =>
      shapeProblems(parseSource(path, "")),
    );
    expect(problems.map((found) => found.length)).toEqual([1, 1, 1, 1]);
    expect(shapeProblems(parseSource("src/loop/a.ts", "\n".repeat(201)))).toHaveLength(1);
    expect(shapeProblems(parseSource("src/sessions/a.ts", "\n".repeat(201)))).toEqual([]);
    expect(shapeProblems(parseSource("src/sessions/a.ts", "\n".repeat(301)))).toHaveLength(1);
  });

  it.each([
    [`import { exec, spawn } from "node:child_process";`, "exec; only spawn"],
    [`import { execFileSync } from "node:child_process";`, "execFileSync; only spawn"],
    [`import { spawn } from "node:child_process";\nspawn(line, { shell: true });`, "starts a shell"],
  ])("refuse a shell: %s", (text, expected) => {
    expect(shellProblems(parseSource("src/tools/a.ts", text)).join("\n")).toContain(expected);
  });

  it.each([
    [`import { AIMessage, isAIMessage } from "@langchain/core/messages";`, "isAIMessage; message-kinds.ts"],
    [`export const is = (one: unknown) => one instanceof BaseMessageChunk;`, "instanceof BaseMessageChunk"],
    [`export const is = (one: unknown) => AIMessage.isInstance(one);`, "AIMessage.isInstance"],
  ])("refuse to know a message by its class: %s", (text, expected) => {
    expect(recognitionProblems(parseSource("src/runs/a.ts", text)).join("\n")).toContain(expected);
  });

  it("find a ring", () => {
    const ring = [
      parseSource("src/loop/a.ts", `import "./b.ts";`),
      parseSource("src/loop/b.ts", `import "./c.ts";`),
      parseSource("src/loop/c.ts", `import "./a.ts";`),
    ];
    expect(rings(ring)).toEqual(["src/loop/a.ts → src/loop/b.ts → src/loop/c.ts → src/loop/a.ts"]);
  });
});

/** Every ring of imports, each once, by depth-first search. Imports of types alone are no ring: nothing loads them. */
function rings(sources: SourceFile[]): string[] {
  const byPath = new Map(sources.map((file) => [file.path, file]));
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (path: string, way: string[]): void => {
    const start = way.indexOf(path);
    if (start >= 0) found.push([...way.slice(start), path].join(" → "));
    if (start >= 0 || done.has(path)) return;
    for (const request of byPath.get(path)?.runtimeImports ?? []) {
      const target = importedFile(path, request);
      if (target !== undefined) walk(target, [...way, path]);
    }
    done.add(path);
  };
  for (const { path } of sources) walk(path, []);
  return found;
}
