import { execFile } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer } from "../../../tests/support/test-server.ts";
import { readGoals } from "../simulation/goals.ts";

const page = readFileSync(join(projectFolder, "docs/toolkits/circuits.md"), "utf8");
const blocksOf = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gmu"))].map(([, block = ""]) => block);

it("the session of docs/toolkits/circuits.md does what it says, step by step", { timeout: 120_000 }, async () => {
  const server = await startTestServer({ graphs: join(projectFolder, "langgraph.json") });
  try {
    const [copied = "", ...session] = blocksOf("sh");
    expect(copied).toContain("cp samples/circuits/* workspace/");
    cpSync(join(projectFolder, "samples/circuits"), server.config.workspace, { recursive: true });
    const said: string[] = [];
    for (const block of session) {
      const lines = block.replaceAll("http://127.0.0.1:2024", server.url);
      const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", lines]);
      said.push(stdout);
      // The choice is a run: taking the iteration back takes its result back, too.
      await expect
        .poll(() => existsSync(join(server.config.workspace, "cmos-amplifier_sim.json")))
        .toBe(said.length === 1);
    }
    for (const figure of ["44.178 dB", "104.17 MHz"]) {
      expect(page).toContain(figure);
      expect(said[0]).toContain(figure);
    }
    expect(said[0]).toContain('"undo"');
  } finally {
    await server.remove();
  }
});

it("the goals of docs/toolkits/circuits.md are read", () => {
  expect(readGoals(blocksOf("json")[0] ?? "", "a_goals.json")).toHaveLength(2);
});
