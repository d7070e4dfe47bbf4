import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative, resolve, sep } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "./support/source-files.ts";

/** A block of a document that says, in its first line, which file it is about. */
interface Recipe {
  kind: "file" | "change";
  path: string;
  body: string;
}

/** The `ts`, `md` and `diff` blocks of a document that begin with a path. */
function recipesOf(document: string): Recipe[] {
  return [...document.matchAll(/^```(ts|md|diff)\n\/\/ (\S+)\n([\s\S]*?)^```$/gmu)].map(([, kind, path, body]) => ({
    kind: kind === "diff" ? "change" : "file",
    path: path ?? "",
    body: body ?? "",
  }));
}

/**
 * Applies a change written as a recipe writes it: lines with a space are looked for, in order; lines with `-` go; lines
 * with `+` come in at the place reached, or at the top.
 */
function applyChange(text: string, change: string): string {
  const lines = text.split("\n");
  let at = 0;
  for (const line of change.split("\n").slice(0, -1)) {
    const words = line.slice(1);
    if (line.startsWith("+")) {
      lines.splice(at, 0, words);
      at += 1;
      continue;
    }
    const found = lines.findIndex((candidate, index) => index >= at && candidate.startsWith(words));
    if (found < 0) throw new Error(`The recipe speaks of a line that is not there: ${words}`);
    if (line.startsWith("-")) lines.splice(found, 1);
    at = line.startsWith("-") ? found : found + 1;
  }
  return lines.join("\n");
}

/** Runs a program of the project's own packages in `folder`; gives its exit code and everything it said. */
async function run(
  folder: string,
  name: string,
  programArguments: string[],
): Promise<{ code: number | null; output: string }> {
  const binaries = join(projectFolder, "node_modules", ".bin");
  const child = spawn(join(binaries, name), programArguments, {
    cwd: folder,
    env: { PATH: `${binaries}${delimiter}${process.env["PATH"] ?? ""}`, HOME: folder, NO_COLOR: "1", CI: "1" },
  });
  let output = "";
  child.stdout.on("data", (part) => (output += String(part)));
  child.stderr.on("data", (part) => (output += String(part)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, output };
}

const recipes = recipesOf(readFileSync(join(projectFolder, "CONTRIBUTING.md"), "utf8"));
let folder = "";
/** Tests that hold a list of all there is, or look at every part of a kind. */
const gates = [
  "tests/catalogue.test.ts",
  "tests/tools/registry.test.ts",
  "tests/models/registry.test.ts",
  "tests/toolkits/toolkits.test.ts",
];
/** What the recipes change, and what the gates read. */
const copied =
  "src packages toolkits docs tests/support tests/contract/records.ts tests/bench/graphs tests/bench/langgraph.json README.md .env.example langgraph.json package.json tsconfig.json vitest.config.ts .oxfmtrc.json"
    .split(" ")
    .concat(gates);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-recipes-"));
  for (const name of copied) {
    const isWanted = (path: string): boolean => !/\/toolkits\/[^/]+\/tests$/u.test(path);
    cpSync(join(projectFolder, name), join(folder, name), { recursive: true, filter: isWanted });
  }
  linkPackages();
  mkdirSync(join(folder, "workspace"));
  for (const { kind, path, body } of recipes) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, kind === "file" ? body : applyChange(readFileSync(target, "utf8"), body));
  }
});

/** The packages of the project as they are, and those of the workspaces as the recipes have changed them. */
function linkPackages(): void {
  const [from, to] = [join(projectFolder, "node_modules"), join(folder, "node_modules")];
  mkdirSync(join(to, "@millrace"), { recursive: true });
  for (const name of readdirSync(from).filter((one) => one !== "@millrace"))
    symlinkSync(join(from, name), join(to, name));
  for (const name of readdirSync(join(folder, "packages"))) {
    symlinkSync(join(folder, "packages", name), join(to, "@millrace", name));
  }
}

const Checked = z.looseObject({ fileNames: z.array(z.string()), packageJsons: z.array(z.string()).optional() });

/**
 * What the compiler knows of the project's own sources after `npm run check`, in terms of the copy: it checks there what the
 * recipes have changed and what that concerns, by the files' hashes. Where the project was not checked, it checks everything.
 */
function bringCheckedTypes(): void {
  const known = join(projectFolder, "node_modules", ".cache", "typescript.tsbuildinfo");
  if (!existsSync(known)) return;
  const modules = join(projectFolder, "node_modules") + sep;
  const placed = (name: string): string => {
    if (!name.startsWith(".")) return name;
    const path = resolve(dirname(known), name);
    return path.startsWith(modules) ? path : join(folder, relative(projectFolder, path));
  };
  const { fileNames, packageJsons, ...rest } = Checked.parse(JSON.parse(readFileSync(known, "utf8")));
  const names = { fileNames: fileNames.map(placed), packageJsons: packageJsons?.map(placed) };
  writeFileSync(join(folder, "types.tsbuildinfo"), JSON.stringify({ ...rest, ...names }));
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the recipes of CONTRIBUTING.md", () => {
  it("add a toolkit with a tool, a prompt, a node, a guardrail and a source of context, a provider, a callback, an agent and a rule, each with its line where there is a list", () => {
    const files = recipes
      .filter(({ kind }) => kind === "file")
      .map(({ path }) => path.split("/").slice(0, 2).join("/"));
    expect(new Set(files)).toEqual(
      new Set([
        "toolkits/texts",
        "packages/models",
        "src/callbacks",
        "workspace/.autocoderagents",
        "workspace/.autocoderrules",
      ]),
    );
    expect(recipes.filter(({ kind }) => kind === "change")).toHaveLength(5);
  });

  it("are formatted", async () => {
    const sources = recipes.map(({ path }) => path).filter((path) => path.endsWith(".ts"));
    const { code, output } = await run(folder, "oxfmt", ["--check", ...sources]);
    expect(code, output).toBe(0);
  });

  it("leave behind no list, and nothing of a kind, that a test of the project would refuse, and work as their own test says", async () => {
    // One worker: what two would import twice takes longer than the tests.
    const files = [...gates, "toolkits/texts/tests/texts.test.ts"];
    const { code, output } = await run(folder, "vitest", ["run", "--maxWorkers=1", ...files]);
    expect(output).toMatch(/texts\.test\.ts \(5 tests\)/u);
    expect(code, output).toBe(0);
  });

  it("pass the type check", async () => {
    bringCheckedTypes();
    const { code, output } = await run(folder, "tsc", ["-p", ".", "--tsBuildInfoFile", "types.tsbuildinfo"]);
    expect(output).toBe("");
    expect(code).toBe(0);
  });
});

describe("a change written as a recipe", () => {
  it("puts lines in after the line it names, and takes lines out", () => {
    expect(applyChange("a\nb\nc\n", "+top\n a\n+after a\n-c\n+d\n")).toBe("top\na\nafter a\nb\nd\n");
  });

  it("fails when the document speaks of a line that is gone", () => {
    expect(() => applyChange("a\n", " b\n+c\n")).toThrow("not there: b");
  });
});
