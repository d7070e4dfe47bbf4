import { spawn } from "node:child_process";
import { join } from "node:path";
import { projectFolder } from "../source-files.ts";

/** The program behind `npm run demo`. */
export const demo = join(projectFolder, "tests/e2e/demo/demo.ts");

/** Runs node with these arguments; gives its exit code and what it said. */
export async function runNode(given: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, given, { cwd: projectFolder, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (part) => (output += String(part)));
  child.stderr.on("data", (part) => (output += String(part)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, output };
}
