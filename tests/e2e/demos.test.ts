import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFolder } from "../support/source-files.ts";

const demo = join(projectFolder, "tests/e2e/demo.ts");

/** Runs node with these arguments; gives its exit code and what it said. */
async function node(given: string[]): Promise<{ code: number | null; output: string }> {
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

// Each starts servers of its own; a busy machine takes its time for that.
describe("npm run demo", { timeout: 180_000 }, () => {
  it.each([
    ["main", ["4. The history of the session"]],
    ["code", ["Answer: approve.", "← ok: Exit code 0.", "src/toll.js is what it was."]],
    ["circuit", ["bandwidth 159.15 Hz", "missed: 104.17 MHz", "All goals are reached.", "Choice: accept_design."]],
    ["documents", ["offer.docx has its 10988 bytes again.", "Undo gives back the text of before"]],
  ])("-- %s shows all of its steps", async (name, told) => {
    const { code, output } = await node([demo, name]);
    expect(output).toContain("Everything the demo promises happened.");
    for (const words of told) expect(output).toContain(words);
    expect(code).toBe(0);
  });

  it("ends with 1 at the first step that does not happen, and says what was expected", async () => {
    const program = [
      'import { showDemo } from "./tests/e2e/demo-session.ts";',
      'import { questionOf } from "./tests/e2e/demo-turns.ts";',
      "const perform = async (server) => questionOf(server, (await server.client.threads.create()).thread_id);",
      "await showDemo({ prepare: () => undefined, perform });",
    ].join("\n");
    const { code, output } = await node(["--input-type=module", "--eval", program]);
    expect(output).toMatch(/The demo failed: .*the session should wait for an answer/u);
    expect(output).not.toContain("Everything the demo promises happened.");
    expect(code).toBe(1);
  });

  it("names the demos there are when it is asked for another", async () => {
    const { code, output } = await node([demo, "nothing"]);
    expect(output).toBe('There is no demo "nothing". There are: main, code, circuit, documents, planner.\n');
    expect(code).toBe(1);
  });
});
