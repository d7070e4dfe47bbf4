import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Command } from "../support/processes/command.ts";

/**
 * Modules as TypeScript's authors write them, each a graph that returns one value, served together from one folder. `files`
 * lie beside the graph; what `shared` holds lies in a workspace package outside of the folder.
 */
interface Case {
  /** The text of `graph.ts` after its imports; `graphOf(value)` makes the graph. */
  graph: string;
  expected: unknown;
  /** The graph's file, where it is not `graph.ts`. */
  file?: string;
  files?: Record<string, string>;
  /** `compilerOptions` of the case's own `tsconfig.json`. */
  options?: object;
  /** `type` of its `package.json`; `module` where it is not given. */
  type?: "module" | "none";
}

const types = "export interface Shape { size: number }\nexport type Name = string;\nexport const size = 3;\n";
const decorators = `const seen: string[] = [];
function mark(target: unknown, name: string) { seen.push(name); }
function typed(target: object, name: string) { seen.push(String(Reflect.getMetadata?.("design:type", target, name)?.name)); }`;

const cases: Record<string, Case> = {
  "a type imported without type": {
    graph: `import { LangGraphRunnableConfig, END } from "@langchain/langgraph";
      const read = (config?: LangGraphRunnableConfig) => (config === undefined ? END : "config");
      export const graph = graphOf(read());`,
    expected: "__end__",
  },
  "a type of an own module, and a default interface": {
    graph: `import { Shape, size } from "./types.js"; import Default from "./default.js";
      const shape: Shape & Default = { size, more: true };
      export const graph = graphOf(shape);`,
    files: { "types.ts": types, "default.ts": "export default interface Default { more: boolean }" },
    expected: { size: 3, more: true },
  },
  "types that are passed on without type": {
    graph: `import { size as length, type Shape } from "./all.js"; export const graph = graphOf({ size: length } as Shape);`,
    files: {
      "types.ts": types,
      "all.ts": `import { Name } from "./types.js"; import D from "./d.js";
        export { Shape, size, Name as Label } from "./types.js"; export { Name, D };`,
      "d.ts": "interface D { a: 1 }\nexport default D;",
    },
    expected: { size: 3 },
  },
  "an import for its effect alone": {
    graph: `import "./effect.js"; export const graph = graphOf((globalThis as any).effect);`,
    files: { "effect.ts": "(globalThis as any).effect = 'happened';" },
    expected: "happened",
  },
  "enums and namespaces": {
    graph: `const enum Level { Low = 1 } enum Mood { Glad = "glad" } namespace Shapes { export const corners = 4; }
      export const graph = graphOf([Level.Low, Mood.Glad, Shapes.corners]);`,
    expected: [1, "glad", 4],
  },
  "parameter properties": {
    graph: `const d = () => 2; class Box { constructor(private readonly one = d(), public two: (x: number) => number = (x) => x) {} sum() { return this.one + this.two(1); } }
      export const graph = graphOf(new Box().sum());`,
    expected: 3,
  },
  "decorators as the tsconfig wants them": {
    graph: `${decorators} class Box { @mark open() {} @typed size: number = 1; }
      export const graph = graphOf(() => (new Box().open(), seen));`,
    options: { experimentalDecorators: true, emitDecoratorMetadata: true },
    files: {},
    expected: ["open", "undefined"],
  },
  "metadata of decorators": {
    graph: `const found: unknown[] = []; (Reflect as any).metadata = (key: string, value: any) => () => void found.push([key, value?.name ?? value]);
      function mark(..._: unknown[]) {} class Box { @mark size: number = 1; }
      export const graph = graphOf(() => (new Box(), found));`,
    options: { experimentalDecorators: true, emitDecoratorMetadata: true },
    expected: [["design:type", "Number"]],
  },
  "decorators of the standard": {
    graph: `import { Shape } from "./types.js";
      const seen: string[] = [];
      const mark = (_: unknown, context: DecoratorContext): any => void seen.push(\`\${context.kind} \${String(context.name)}\`);
      const twice = (method: () => number, context: ClassMethodDecoratorContext) => {
        context.addInitializer(() => void seen.push("made"));
        return function (this: Shape) { return 2 * method.call(this); };
      };
      @mark export class Box implements Shape {
        @mark accessor size = 4;
        @mark #hidden: number = 1;
        @((_: undefined, __: ClassFieldDecoratorContext) => (first: number) => first + 1) more = 1;
        @mark unset?: string;
        constructor(readonly given: string = __dirname) {}
        /** Twice. */ @twice sum(): number { return this.size + this.more + this.#hidden; }
      }
      const Inline = @mark class { accessor plain = "plain" };
      const line = () => /graph\\.ts:(\\d+)/.exec(String(new Error("here").stack))?.[1];
      export const graph = graphOf(() => [seen.splice(0), new Box().sum(), Object.keys(new Box()), new Inline().plain, line()]);`,
    files: { "types.ts": types },
    expected: [
      ["accessor size", "field #hidden", "field unset", "class Box", "class Inline"],
      14,
      ["given", "more", "unset"],
      "plain",
      "18",
    ],
  },
  "decorators of the standard, where fields are assigned": {
    graph: `const seen: string[] = [];
      const mark = (_: unknown, { kind, name }: DecoratorContext): any => void seen.push(\`\${kind} \${String(name)}\`);
      class Base { set name(value: string) { seen.push("set " + value); } }
      class Box extends Base { @mark static first = 1; @mark bare: string; plain: string; name = "own"; constructor(readonly given = 3) { super(); } }
      export const graph = graphOf(() => (new Box(), [seen, Object.keys(new Box())]));`,
    options: { target: "ES2020" },
    expected: [
      ["field first", "field bare", "set own", "set own"],
      ["given", "bare", "plain"],
    ],
  },
  "class fields that are only declared": {
    graph: `class Base { name = "base" } class Other extends Base { declare name: string; } class Older extends Base { name!: string }
      export const graph = graphOf([new Other().name, new Older().name]);`,
    options: { target: "ES2020" },
    expected: ["base", "base"],
  },
  "JSX by the settings of its folder": {
    file: "graph.tsx",
    graph: `const h = (tag: string, props: object | null, ...children: unknown[]) => ({ tag, children });
      export const graph = graphOf(<b title="x">bold</b>);`,
    options: { jsx: "react", jsxFactory: "h" },
    expected: { tag: "b", children: ["bold"] },
  },
  "JSX of another runtime": {
    file: "graph.tsx",
    graph: `export const graph = graphOf(<b>bold</b>);`,
    options: { jsx: "react-jsx", jsxImportSource: "tiny" },
    files: {
      "node_modules/tiny/package.json": `{"name": "tiny", "exports": {"./jsx-runtime": "./runtime.js"}, "type": "module"}`,
      "node_modules/tiny/runtime.js": "export const jsx = (tag, props) => ({ tag, ...props });",
    },
    expected: { tag: "b", children: "bold" },
  },
  "a module of TSX": {
    graph: `import { tag } from "./part.js"; import { tag as again } from "./part"; export const graph = graphOf([tag, again]);`,
    files: { "part.tsx": "export const tag: string = 'part';" },
    expected: ["part", "part"],
  },
  "JSON without an attribute, with one, and by name": {
    graph: `import data from "./data.json"; import { version } from "./data.json"; import typed from "./data.json" with { type: "json" };
      export const graph = graphOf([data.list, version, typed.version]);`,
    files: { "data.json": `{"version": "1.2.3", "list": [1], "not-a-name": 1}` },
    expected: [[1], "1.2.3", "1.2.3"],
  },
  "endings of every kind": {
    graph: `import { a } from "./a.js"; import { b } from "./b.mjs"; import { c } from "./c.cjs"; import { d } from "./d"; import { e } from "./e"; import { f } from "./f.ts";
      export const graph = graphOf([a, b, c, d, e, f]);`,
    files: {
      "a.ts": "export const a: number = 1;",
      "b.mts": "export const b: number = 2;",
      "c.cts": "export const c: number = 3;",
      "d.ts": "export const d: number = 4;",
      "e/index.ts": "export const e: number = 5;",
      "f.ts": "export const f: number = 6;",
    },
    expected: [1, 2, 3, 4, 5, 6],
  },
  "the source beside what was compiled of it": {
    graph: `import { from } from "./part.js"; export const graph = graphOf(from);`,
    files: { "part.ts": "export const from: string = 'source';", "part.js": "export const from = 'compiled';" },
    expected: "source",
  },
  "names from baseUrl alone": {
    graph: `import { from } from "parts/one.js"; import two from "parts/two"; export const graph = graphOf([from, two]);`,
    options: { baseUrl: "./src" },
    files: {
      "src/parts/one.ts": "export const from = 1 as number;",
      "src/parts/two.ts": "export default 2 as number;",
    },
    expected: [1, 2],
  },
  "paths by a chain of extends": {
    graph: `import { from } from "@parts/one.js"; export const graph = graphOf(from);`,
    files: {
      "tsconfig.json": `{ "extends": ["./more.json", "settings/tsconfig.json"], /* comments */ }`,
      "more.json": `{"extends": "./config/base.json"}`,
      "config/base.json": `{"compilerOptions": {"paths": {"@parts/*": ["../parts/*"]}}}`,
      "node_modules/settings/tsconfig.json": `{"compilerOptions": {"strict": true}}`,
      "parts/one.ts": "export const from: string = 'extended';",
    },
    expected: "extended",
  },
  "the tsconfig next to the file": {
    graph: `import { from } from "./inner/one.js"; export const graph = graphOf(from);`,
    options: { paths: { "#x/*": ["./outer/*"] } },
    files: {
      "inner/tsconfig.json": `{"compilerOptions": {"paths": {"~/*": ["./deep/*"]}}}`,
      "inner/one.ts": `export { from } from "~/two";`,
      "inner/deep/two.ts": "export const from: string = 'inner';",
    },
    expected: "inner",
  },
  "a tsconfig that extends what is not installed": {
    graph: `import { from } from "@/one"; export const graph = graphOf(from);`,
    files: {
      "tsconfig.json": `{"extends": "@tsconfig/node20/tsconfig.json", "compilerOptions": {"paths": {"@/*": ["./*"]}}}`,
      "one.ts": "export const from: string = 'alone';",
    },
    expected: "alone",
  },
  "a tsconfig that extends itself": {
    graph: `export const graph = graphOf("served");`,
    files: { "tsconfig.json": `{"extends": "./tsconfig.json"}` },
    expected: "served",
  },
  "require and its like in a package without a type": {
    type: "none",
    graph: `import { basename } from "node:path"; import other = require("./other.cjs");
      const data = require("./data.json"); export const graph = graphOf([basename(__filename), basename(__dirname).length > 0, data.a, other.b]);`,
    files: { "data.json": `{"a": 1}`, "other.cts": "const b: number = 2; export = { b };" },
    expected: ["graph.ts", true, 1, 2],
  },
  "require in a package of modules": {
    graph: `const { join } = require("node:path"); function own(require: string) { return require; }
      export const graph = graphOf([join("a", "b"), own("mine"), typeof __dirname]);`,
    expected: ["a/b", "mine", "string"],
  },
  "CommonJS all through": {
    type: "none",
    graph: `const { a } = require("./a"); const b: number = 2; exports.graph = graphOf([a, b]);`,
    files: { "a.ts": "const a: number = 1; module.exports = { a };" },
    expected: [1, 2],
  },
  "the default of a package that has one only for CommonJS": {
    type: "none",
    graph: `import read from "read-pages"; import { pages } from "read-pages"; export const graph = graphOf([read(2), pages]);`,
    files: {
      "node_modules/read-pages/package.json": `{"exports": {"import": "./index.mjs", "require": "./index.cjs"}}`,
      "node_modules/read-pages/index.mjs": "export const pages = 1;",
      "node_modules/read-pages/index.cjs": "module.exports = (count) => count * 2; module.exports.pages = 1;",
    },
    expected: [4, 1],
  },
  "named exports of CommonJS TypeScript": {
    graph: `import { one, Kind } from "./one.cjs"; import whole from "./two.cjs"; export const graph = graphOf([one, Kind.A, whole.two]);`,
    files: {
      "one.cts": "import { sep } from 'node:path'; export const one: number = sep.length; export enum Kind { A = 'a' }",
      "two.cts": "import { sep } from 'node:path'; export = { two: sep.length + 1 };",
    },
    expected: [1, "a", 2],
  },
  "await at the top of a package without a type": {
    type: "none",
    graph: `const value = await Promise.resolve(7); export const graph = graphOf(value);`,
    expected: 7,
  },
  "TypeScript of a workspace package outside of the folder": {
    graph: `import { Mood, MoodName, nameOf } from "@team/shared"; import { deep } from "@team/shared/deep";
      const name: MoodName = nameOf(Mood.Glad); export const graph = graphOf([name, deep]);`,
    expected: ["glad", "deep"],
  },
  "5 MB of text": {
    graph: `import { texts } from "./large.js"; export const graph = graphOf(texts.length);`,
    files: {
      "large.ts": `export const texts: string[] = [\n${'  "a line of a large table, as generators write them",\n'.repeat(100_000)}];`,
    },
    expected: 100_000,
  },
  "TypeScript that a package brings": {
    graph: `import { Kind } from "brings-sources"; export const graph = graphOf(Kind.A);`,
    files: {
      "node_modules/brings-sources/package.json": `{"name": "brings-sources", "main": "index.ts", "type": "module"}`,
      "node_modules/brings-sources/index.ts": `export { Kind } from "./kind.js";`,
      "node_modules/brings-sources/kind.ts": "export enum Kind { A = 'a' }",
    },
    expected: "a",
  },
};

/** A graph whose run fails in a function of its own. */
const failing: Record<string, Case> = {
  "an error in a run": {
    graph: `interface Size {
        width: number;
      }
      function check(size: Size): never {
        // its stack has the line of the source
        throw new Error(size.width < 2 ? "too small" : "");
      }
      export const graph = graphOf(() => check({ width: 1 }));`,
    expected: undefined,
  },
};

/** Graphs that cannot be loaded, and the reported problems. */
const broken: Record<string, { graph: string; files?: Record<string, string>; says: RegExp }> = {
  "a mistake in the text": { graph: "const x: = 1;", says: /graph\.ts:\d+:\d+: Unexpected token/u },
  "a package that is missing": {
    graph: `import x from "not-installed/deep"; export const graph = graphOf(x);`,
    says: /not-installed.*graph\.ts.*npm install not-installed/u,
  },
  "a file that is missing": {
    graph: `import x from "./gone.js"; export const graph = graphOf(x);`,
    says: /gone\.js.*graph\.ts/u,
  },
  "an export that is missing": {
    graph: `import { nothing } from "./part.js"; export const graph = graphOf(nothing);`,
    files: { "part.ts": "export const other = 1;" },
    says: /graph\.ts:\d+: .*part\.js.*does not provide an export named 'nothing'/u,
  },
  "a module that throws": {
    graph: `interface Long {\n  a: 1;\n}\nfunction fail(): never {\n  throw new Error("no key");\n}\nfail();`,
    says: /graph\.ts:6: no key/u,
  },
};

const head = (depth: string): string => `import { graphOf } from "${depth}graph-of.js";\n`;
const slug = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z]+/gu, "-")
    .replace(/-$/u, "");

let folder = "";
let command: Command;
let client: Client;

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "millrace-typescript-")));
  await write("app/package.json", `{"type": "module"}`);
  await write(
    "app/graph-of.ts",
    `import { Annotation, StateGraph, LangGraphRunnableConfig } from "@langchain/langgraph";
     const State = Annotation.Root({ value: Annotation<unknown>() });
     /** A graph that returns a value, or what a function makes of it. */
     export const graphOf = (value: unknown) =>
       new StateGraph(State)
         .addNode("answer", (_state: typeof State.State, _config: LangGraphRunnableConfig) => ({ value: typeof value === "function" ? value() : value }))
         .addEdge("__start__", "answer");`,
  );
  await write(
    "shared/package.json",
    `{"name": "@team/shared", "exports": {".": "./src/index.ts", "./deep": "./src/deep.ts"}}`,
  );
  await write(
    "shared/src/index.ts",
    `import { MoodName } from "./types.js"; export type { MoodName }; export enum Mood { Glad = "glad" } export const nameOf = (mood: Mood): MoodName => mood;`,
  );
  await write("shared/src/types.ts", "export type MoodName = string;");
  await write("shared/src/deep.ts", "export const deep: string = 'deep';");
  const graphs: Record<string, string> = {};
  for (const [name, one] of Object.entries({ ...cases, ...failing, ...broken })) {
    const { graph, files = {} } = one;
    const { file = "graph.ts", options, type = "module" }: Partial<Case> = one;
    const place = `app/cases/${slug(name)}`;
    const isCommonJs = graph.includes("exports.graph");
    await write(
      `${place}/${file}`,
      `${isCommonJs ? 'const { graphOf } = require("../../graph-of");\n' : head("../../")}${graph}`,
    );
    await write(`${place}/package.json`, JSON.stringify(type === "none" ? {} : { type }));
    if (options !== undefined) await write(`${place}/tsconfig.json`, JSON.stringify({ compilerOptions: options }));
    for (const [path, text] of Object.entries(files)) await write(`${place}/${path}`, text);
    graphs[slug(name)] = `./cases/${slug(name)}/${file}:graph`;
  }
  await mkdir(join(folder, "app/node_modules/@team"), { recursive: true });
  await symlink(join(folder, "shared"), join(folder, "app/node_modules/@team/shared"));
  await write("app/langgraph.json", JSON.stringify({ graphs }));
  command = new Command(["start"], join(folder, "app"));
  client = new Client({ apiUrl: await command.url(), callerOptions: { maxRetries: 0 } });
});
afterAll(async () => {
  await command.stop();
  await rm(folder, { recursive: true, force: true });
});

describe("a module of a user's folder", () => {
  it.each(Object.entries(cases))("may have %s", async (name, { expected }) => {
    expect(await client.runs.wait(null, slug(name), { input: {} })).toEqual({ value: expected });
  });

  it("logs once a tsconfig.json of which a part does not count", () => {
    const warnings = command.lines.filter((line) => line.includes("tsconfig_not_used"));
    expect(warnings).toHaveLength(2);
    expect(warnings.join("\n")).toMatch(/@tsconfig\/node20/u);
    expect(warnings.join("\n")).toMatch(/[Cc]ircular/u);
  });
});

describe("a module that cannot be loaded", () => {
  it.each(Object.entries(broken))("is named with the file, the line and what to do: %s", async (name, { says }) => {
    const line = command.lines.find((text) => text.includes(`"graph_id":"${slug(name)}"`)) ?? "{}";
    const { message } = JSON.parse(line) as { message: string };
    expect(message).toMatch(says);
    expect(message).not.toContain("\n");
  });
});

describe("an error in a run", () => {
  it("has the places of the sources in its stack", async () => {
    await expect(client.runs.wait(null, "an-error-in-a-run", { input: {} })).rejects.toThrow("too small");
    const line = await command.says(/too small.*stack/u);
    expect(line.input).toMatch(/an-error-in-a-run\/graph\.ts:7:15/u);
  });
});

describe("what else a langgraph.json names", () => {
  it.each([
    ["auth.path", { auth: { path: "./rules.ts:auth" } }],
    ["http.app", { http: { app: "./rules.ts:app" } }],
  ])("ends the start with one line where it cannot be loaded: %s", async (part, manifest) => {
    await write("rules/langgraph.json", JSON.stringify({ graphs: {}, ...manifest }));
    await write(
      "rules/rules.ts",
      "import { gone } from './other.js';\nexport const auth = gone;\nexport const app = gone;",
    );
    await write("rules/other.ts", "export type gone = string;");
    const start = new Command(["start"], join(folder, "rules"));
    expect(await start.exit()).toBe(1);
    const problems = start.lines.filter((line) => line.includes("cannot be loaded"));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`${part} ./rules.ts:.*rules.ts:1: .*'gone'.*import type`, "u"));
    expect(start.lines.join("\n")).not.toMatch(/^\s+at /mu);
  });
});
