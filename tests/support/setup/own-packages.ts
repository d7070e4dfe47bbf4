import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { projectFolder } from "../source-files.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A user's folder with packages of its own, and in it the test graphs and those of `tests/fixtures/graphs`. */
    ownPackages: string;
  }
}

/** What is really there twice: the classes of these are other ones than those of the server. */
const copied = ["core", "langgraph", "langgraph-checkpoint"];

const folder = mkdtempSync(join(tmpdir(), "own-packages-"));

/** Makes the folder, once for a run of tests. */
export function setup(project: TestProject): void {
  const packages = join(projectFolder, "node_modules");
  const own = join(folder, "node_modules");
  mkdirSync(join(own, "@langchain"), { recursive: true });
  for (const name of readdirSync(packages)) {
    if (name !== "@langchain" && !name.startsWith(".")) symlinkSync(join(packages, name), join(own, name));
  }
  for (const name of readdirSync(join(packages, "@langchain"))) {
    const [from, to] = [join(packages, "@langchain", name), join(own, "@langchain", name)];
    if (copied.includes(name))
      cpSync(from, to, { recursive: true, filter: (path) => !/\.(d\.c?ts|map|md)$/u.test(path) });
    else symlinkSync(from, to);
  }
  cpSync(join(projectFolder, "tests", "support", "test-graphs.ts"), join(folder, "test-graphs.ts"));
  const fixtures = join(projectFolder, "tests", "fixtures", "graphs");
  if (existsSync(fixtures)) cpSync(fixtures, join(folder, "graphs"), { recursive: true });
  project.provide("ownPackages", folder);
}

/** Removes it at the end. */
export function teardown(): void {
  rmSync(folder, { recursive: true, force: true });
}
