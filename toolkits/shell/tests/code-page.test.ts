import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const page = readFileSync(join(projectFolder, "docs/toolkits/code.md"), "utf8");
const source = (): string => readFileSync(join(server.config.workspace, "src/shop.js"), "utf8");

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), toolkits: ["default", "shell"] });
});
afterAll(() => server.remove());

it("the session of docs/toolkits/code.md does what it says, step by step", async () => {
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gmu)].map(([, block = ""]) => block);
  expect(blocks).toHaveLength(8);
  const said: string[] = [];
  const sources: string[] = [];
  for (const block of blocks) {
    const lines = block.replaceAll("http://127.0.0.1:2024", server.url);
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", lines]);
    said.push(stdout);
    sources.push(said.length > 1 ? source() : "");
  }
  const [created, written, listed, misfit, changed, ran, refused, undone] = said;
  expect(created).toContain("0192d1c4-7d5e-7000-8000-0000000000c0");
  expect(written).toContain("Wrote src/shop.js");
  expect(listed).toContain("src/shop.js\\n3: function total");
  const [, quoted = ""] = /says what is nearest: `([^`]+)`/u.exec(page) ?? [];
  expect(misfit).toContain(quoted.replaceAll("\n", " "));
  expect(sources[3]).toBe(sources[1]);
  expect(changed).toContain("Changed src/shop.js (1 block).");
  expect(sources[4]).toContain("list.reduce(");
  expect(ran).toMatch(
    /run the command node src\/shop\.js in the workspace; without a shell; .*sandbox.*sha256 [0-9a-f]{16}/u,
  );
  expect(ran).toContain("Exit code 0.\\n7");
  expect(refused).toContain("sudo takes the rights of another user");
  expect(undone).toContain('"status":"undone"');
  expect(sources.at(-1)).toBe(sources[1]);
});
