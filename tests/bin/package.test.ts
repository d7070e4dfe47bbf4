import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "@millrace/testing/model-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { packageFiles, packAndInstall, run } from "../support/processes/packed.ts";
import { programEnvironment } from "../support/processes/program.ts";
import { projectFolder } from "../support/source-files.ts";

/** A project whose graph is tested by the kit. */
const kit = join(projectFolder, "tests", "fixtures", "package", "kit");
let folder = "";
/** The folder that the package is installed in. */
let app = "";
let installed = "";
let program = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-package-"));
  app = join(folder, "app");
  installed = join(app, "node_modules", "millrace");
  program = join(installed, "dist", "package", "bin", "millrace.cjs");
  await packAndInstall(folder, { name: "millrace", path: ".", names: packageFiles });
  writeFileSync(join(app, "package.json"), '{ "type": "module" }');
}, 240_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Serves a folder while `use` runs. */
async function serving(cwd: string, env: Record<string, string>, use: (url: string) => Promise<void>): Promise<void> {
  const child: ChildProcess = spawn(process.execPath, [program, "start"], {
    cwd,
    env: { ...programEnvironment, HOME: folder, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  let output = "";
  child.stderr?.on("data", (part) => (output += String(part)));
  child.stdout?.on("data", (part) => (output += String(part)));
  try {
    await expect.poll(() => child.exitCode ?? output, { timeout: 90_000 }).toMatch(/"url":"/u);
    await use(/"url":"([^"]+)"/u.exec(output)?.[1] ?? "");
    child.kill("SIGTERM");
    expect(await closed, output).toEqual([0, null]);
  } finally {
    child.kill("SIGKILL");
    await closed;
  }
}

const Locked = z.looseObject({
  dependencies: z.record(z.string(), z.string()).default({}),
  hasInstallScript: z.boolean().default(false),
});
const lock = z
  .looseObject({ packages: z.record(z.string(), Locked) })
  .parse(JSON.parse(readFileSync(join(projectFolder, "package-lock.json"), "utf8")));

/** The packages of these names and all that they need, by the lock file of the project. */
function neededBy(names: Set<string>): Set<string> {
  for (const name of names) {
    for (const one of Object.keys(lock.packages[`node_modules/${name}`]?.dependencies ?? {})) names.add(one);
  }
  return names;
}

function hasInstallScript(name: string): boolean {
  return lock.packages[`node_modules/${name}`]?.hasInstallScript === true;
}

describe("the package", () => {
  it("holds JavaScript, types and the console, no sources and no tests, and names what it needs", () => {
    const files = globSync("**/*", { cwd: installed });
    expect(files.filter((file) => /(?<!\.d)\.ts$|\.test\.|\.map$/u.test(file))).toEqual([]);
    expect(files).toContain("dist/package/console/release/index.html");
    const { version, private: isPrivate } = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8"));
    const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect([manifest.version, isPrivate, manifest.scripts]).toEqual([version, undefined, undefined]);
    const needed = new Set<string>();
    const ofBrowsers = /\/console\/|\/swagger-ui-dist\//u;
    for (const file of files.filter((one) => one.endsWith(".js") && !ofBrowsers.test(one))) {
      const text = readFileSync(join(installed, file), "utf8");
      for (const [, name = ""] of text.matchAll(
        /\b(?:from |import |import\()"((?!node:)(?:@[\w-]+\/)?[a-z][\w.-]*)[/"]/gu,
      ))
        needed.add(name);
    }
    expect(needed.size).toBeGreaterThan(30);
    const named = { ...manifest.dependencies, ...manifest.peerDependencies };
    expect([...needed].filter((name) => !(name in named))).toEqual([]);
    // Of all that comes along, no more than this has a script for npm to run at an installation; start/package.md says what each does.
    const seen = new Set(Object.keys(manifest.dependencies));
    const withScript = [...neededBy(seen)].filter((name) => hasInstallScript(name));
    expect(withScript.toSorted()).toEqual(["@turbodocx/html-to-docx", "esbuild"]);
    expect(existsSync(join(installed, ".env.example"))).toBe(true);
  });

  it(
    "serves the assistant in an empty folder, and one command more makes a turn that uses a tool",
    { timeout: 180_000 },
    async () => {
      const empty = join(folder, "empty");
      mkdirSync(empty);
      await serving(empty, { MILLRACE_MODEL: "offline", MILLRACE_CONSOLE: "on" }, async (url) => {
        const output = await run(
          process.execPath,
          [program, "run", "--url", url, "--json", "Write hello into note.txt"],
          empty,
        );
        const types = output
          .trim()
          .split("\n")
          .map((line): string => JSON.parse(line).type);
        expect(types).toEqual(expect.arrayContaining(["call", "result", "text"]));
        expect(readFileSync(join(empty, ".millrace", "workspace", "note.txt"), "utf8")).toContain("hello");
        const page = await fetch(`${url}/console/`);
        expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<script")]);
        const script = await fetch(`${url}/docs/swagger-ui-bundle.js`);
        expect([script.status, await script.text()]).toEqual([200, expect.stringContaining("SwaggerUIBundle")]);
        const info: unknown = await (await fetch(`${url}/info`)).json();
        expect(JSON.stringify(info)).toContain(
          JSON.parse(readFileSync(join(installed, "package.json"), "utf8")).version,
        );
      });
    },
  );

  it("adds the toolkits of langgraph.json to the assistant, without a fork", { timeout: 180_000 }, async () => {
    const project = join(app, "texts");
    mkdirSync(project);
    const write = (name: string, text: string): void => writeFileSync(join(project, name), text);
    const manifest = (...toolkits: string[]): void =>
      write("langgraph.json", JSON.stringify({ graphs: { agent: "./agent.ts:agent" }, millrace: { toolkits } }));
    manifest("./texts.ts:texts");
    write("agent.ts", 'export { agent } from "millrace/agent";\n');
    write("texts.ts", readFileSync(join(projectFolder, "tests/fixtures/package/texts.ts"), "utf8"));
    const model = await startModelServer({
      script: [
        { toolCalls: [{ name: "count_words", arguments: { text: "one two three" } }] },
        { text: "It has three words." },
        { text: "Nothing is missing." },
      ],
    });
    const env = { MILLRACE_MODEL: "openai:scripted", OPENAI_API_KEY: "test", OPENAI_BASE_URL: model.url };
    try {
      await serving(project, env, async (url) => {
        const output = await run(
          process.execPath,
          [program, "run", "--url", url, "How long is: one two three"],
          project,
        );
        expect(output).toContain("Nothing is missing.");
        model.assertFinished();
        expect(JSON.stringify(model.requests[1]?.messages)).toContain("3 words");
        expect(JSON.stringify(model.requests[2]?.messages)).toContain("Review the last answer");
      });
    } finally {
      await model.close();
    }
    write("other.ts", "export const other = { name: 1 };\n");
    manifest("./other.ts:other");
    const start = run(process.execPath, [program, "start"], project);
    await expect(start).rejects.toThrow(/millrace\.toolkits \.\/other\.ts:other is no toolkit/u);
    manifest("./texts.ts:texts", "./texts.ts:texts");
    await expect(run(process.execPath, [program, "start"], project)).rejects.toThrow(
      /already a toolkit of the name texts/u,
    );
  });

  it("does what docs/start/package.md shows", { timeout: 180_000 }, async () => {
    const page = readFileSync(join(projectFolder, "docs/start/package.md"), "utf8");
    const blocks = [...page.matchAll(/^```(json|ts)\n([\s\S]*?)^```$/gmu)];
    const project = join(app, "page");
    mkdirSync(project);
    for (const [, language, text = ""] of blocks) {
      const name = language === "json" ? "langgraph.json" : (/^\/\/ ([\w.-]+\.ts)/u.exec(text)?.[1] ?? "");
      writeFileSync(join(project, name), text);
    }
    expect(readdirSync(project).toSorted()).toEqual(["agent.ts", "graph.test.ts", "langgraph.json", "texts.ts"]);
    await serving(project, { MILLRACE_MODEL: "offline" }, async (url) => {
      expect(await (await fetch(`${url}/tools`)).text()).toContain('"count_words"');
    });
    const tested = join(app, "page-test");
    mkdirSync(tested);
    for (const name of ["graph.ts", "langgraph.json"]) cpSync(join(kit, name), join(tested, name));
    cpSync(join(project, "graph.test.ts"), join(tested, "graph.test.ts"));
    expect(await run(process.execPath, ["--test"], tested)).toMatch(/pass 1\b/u);
  });

  it(
    "makes a project whose test is green at once, and which names where the package came from",
    { timeout: 180_000 },
    async () => {
      const specs = async (name: string): Promise<unknown> => {
        await run(process.execPath, [program, "new", name], app);
        return JSON.parse(readFileSync(join(app, name, "package.json"), "utf8")).dependencies.millrace;
      };
      const { version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
      const notes = (resolved: string): void =>
        writeFileSync(
          join(app, "node_modules", ".package-lock.json"),
          JSON.stringify({ packages: { "node_modules/millrace": { version, resolved } } }),
        );
      expect(await specs("made")).toBe(`^${version}`);
      expect(await run(process.execPath, ["--test"], join(app, "made"))).toMatch(/pass 1\b/u);
      notes("https://registry.example/millrace.tgz");
      expect(await specs("of-registry")).toBe(`^${version}`);
      notes("file:../millrace.tgz");
      expect(await specs("of-file")).toBe(`file:${join(folder, "millrace.tgz")}`);
    },
  );

  it("brings a test kit, with types, that needs no key", { timeout: 180_000 }, async () => {
    const project = join(app, "kit");
    mkdirSync(project);
    for (const name of readdirSync(kit)) cpSync(join(kit, name), join(project, name.replace("kit.", "graph.test.")));
    const output = await run(process.execPath, ["--test"], project);
    expect(output).toMatch(/pass 1\b/u);
    await run(join(projectFolder, "node_modules", ".bin", "tsc"), ["-p", project], project);
    expect(existsSync(join(project, ".millrace"))).toBe(false);
  });
});
