import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const page = readFileSync(join(projectFolder, "docs/toolkits/planner.md"), "utf8");

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json") });
});
afterAll(() => server.remove());

it("the session of docs/toolkits/planner.md does what it says, step by step", async () => {
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gmu)].map(([, block = ""]) => block);
  expect(blocks).toHaveLength(2);
  const said: string[] = [];
  for (const block of blocks) {
    const lines = block.replaceAll("http://127.0.0.1:2024", server.url);
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", lines]);
    said.push(stdout);
  }
  const [created = "", rest = ""] = said;
  for (const title of ["Write the report", "Call Ann", "Buy paper"]) {
    expect(created).toContain(String.raw`"status":"success","message":"Task created: \"${title}\"."`);
  }
  expect(created).toMatch(/event: done\ndata: \{"type":"done"\}\n\n$/u);
  expect(rest).toContain(
    '"title":"Write the report","completed":false,"area_id":null,"scheduled_dates":["2031-05-02"]',
  );
  expect(rest).toContain('"reply":"I marked the task “Call Ann” as done."');
  const left = await (await server.send("GET", "/api/views/staging/tasks")).json();
  expect(left).toMatchObject({
    data: [
      { title: "Call Ann", completed: true },
      { title: "Buy paper", completed: false },
    ],
  });
});
