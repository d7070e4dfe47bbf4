import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const page = readFileSync(join(projectFolder, "docs/toolkits/memory.md"), "utf8");

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json") });
});
afterAll(() => server.remove());

it("the session of docs/toolkits/memory.md does what it says, step by step", async () => {
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gmu)].map(([, block = ""]) => block);
  const said: string[] = [];
  for (const block of blocks) {
    const lines = block.replaceAll("http://127.0.0.1:2024", server.url);
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", lines]);
    said.push(stdout);
  }
  const [saved, context, replaced, ...others] = said;
  expect(others).toEqual([]);
  expect(saved).toContain('"content":"Wants answers in metric units"');
  expect(context).toContain('"name":"memory"');
  expect(context).toMatch(/employer: Acme\\n- \[\w{8}\] preference: Wants answers in metric units/u);
  expect(replaced).toMatch(/"data":\[\{[^\]]*"content":"Globex"[^\]]*\}\].*"deleted":2/su);
  expect(replaced).not.toContain("Acme");
});
