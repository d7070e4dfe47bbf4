import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { projectFolder } from "../support/source-files.ts";

let home: string;
beforeEach(() => {
  // The start alone, before a program that says one word.
  home = mkdtempSync(join(tmpdir(), "millrace-bin-"));
  mkdirSync(join(home, "bin"));
  for (const name of ["millrace.cjs", "resolve-once.cjs"]) {
    copyFileSync(join(projectFolder, "bin", name), join(home, "bin", name));
  }
  writeFileSync(join(home, "package.json"), '{"type":"module"}');
  writeFileSync(join(home, "bin/command.ts"), 'const word: string = "served";\nprocess.stdout.write(word);\n');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function start(): Promise<{ output: string; errors: string; code: unknown }> {
  // Without what the test run keeps for the programs it starts.
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const child = spawn(process.execPath, [join(home, "bin/millrace.cjs")], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  let errors = "";
  child.stdout.on("data", (text) => (output += String(text)));
  child.stderr.on("data", (text) => (errors += String(text)));
  const [code] = await once(child, "close");
  return { output, errors, code };
}

it("keeps what a start has compiled with the packages, for the next one", async () => {
  mkdirSync(join(home, "node_modules"));
  expect(await start()).toEqual({ output: "served", errors: "", code: 0 });
  const [kind] = readdirSync(join(home, "node_modules/.cache/millrace"));
  const kept = readdirSync(join(home, "node_modules/.cache/millrace", kind ?? ""));
  // The module, and its text without types.
  expect(kept).toHaveLength(2);
  expect(await start()).toEqual({ output: "served", errors: "", code: 0 });
  // A source that has changed since is what runs.
  writeFileSync(join(home, "bin/command.ts"), 'process.stdout.write("changed" as string);\n');
  expect(await start()).toEqual({ output: "changed", errors: "", code: 0 });
});

it("finds each module where Node would, by the folder that imports it", async () => {
  const packages = {
    "node_modules/shared": 'export default "outer";\n',
    "node_modules/user":
      'import shared from "shared";\nimport { part } from "./parts/part.js";\nexport default `${shared} ${part}`;\n',
    "node_modules/user/node_modules/shared": 'export default "inner";\n',
  };
  for (const [folder, text] of Object.entries(packages)) {
    mkdirSync(join(home, folder), { recursive: true });
    writeFileSync(join(home, folder, "package.json"), '{"type":"module","exports":"./index.js"}');
    writeFileSync(join(home, folder, "index.js"), text);
  }
  // A folder inside of a package may have modules of the other kind.
  mkdirSync(join(home, "node_modules/user/parts"));
  writeFileSync(join(home, "node_modules/user/parts/package.json"), '{"type":"commonjs"}');
  writeFileSync(join(home, "node_modules/user/parts/part.js"), "exports.part = typeof require;\n");
  writeFileSync(join(home, "bin/other.ts"), 'export { default } from "shared";\n');
  const imports = 'import shared from "shared";\nimport user from "user";\nimport other from "./other.ts";\n';
  writeFileSync(join(home, "bin/command.ts"), `${imports}process.stdout.write([shared, user, other].join());\n`);
  expect(await start()).toMatchObject({ output: "outer,inner function,outer", code: 0 });
});

it("says what an import of a module that is not there came from", async () => {
  writeFileSync(join(home, "bin/other.ts"), 'import "./gone.ts";\n');
  writeFileSync(join(home, "bin/command.ts"), 'import "./other.ts";\n');
  const { errors, code } = await start();
  expect(errors).toContain("Cannot find module");
  expect(errors).toContain(`imported from ${join(home, "bin/other.ts")}`);
  expect(code).toBe(1);
});

it("starts where nothing can be kept", async () => {
  writeFileSync(join(home, "node_modules"), "no folder");
  expect(await start()).toEqual({ output: "served", errors: "", code: 0 });
});

it("has the same space for new objects by npm start and where it starts the Node beside it", () => {
  const limit = "--max-semi-space-size=16";
  const text = readFileSync(join(projectFolder, "bin/millrace.cjs"), "utf8");
  // Not every `env` takes more than the name of a program.
  expect(text.split("\n")[0]).toBe("#!/usr/bin/env node");
  expect(text).toContain(`const youngSpace = "${limit}";`);
  const { scripts } = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8"));
  expect(scripts.start).toBe(`exec node ${limit} bin/millrace.cjs`);
  for (const file of ["docs/operate/operations.md", "Dockerfile"]) {
    const page = readFileSync(join(projectFolder, file), "utf8");
    expect([...page.matchAll(/--max-semi-space-size=\d+/gu)].map(([text]) => text)).toEqual([limit]);
  }
});
