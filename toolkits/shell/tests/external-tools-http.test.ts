import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

it("shows the external tools with their help and what is wrong, and looks for all again when asked", async () => {
  const folder = join(server.config.workspace, ".autocodertools");
  await mkdir(folder);
  await writeFile(join(folder, "count.sh"), "# Usage: count.sh <file>");
  await writeFile(join(folder, "plain"), "no program");
  const tool = {
    name: "count",
    extension: ".sh",
    path: ".autocodertools/count.sh",
    folder: ".autocodertools",
    executable: false,
    help: "Usage: count.sh <file>",
  };
  for (const [method, path] of [
    ["GET", "/external-tools"],
    ["POST", "/external-tools/reload"],
  ] as const) {
    const answer = await server.send(method, path);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      folders: expect.arrayContaining([".autocodertools"]),
      tools: expect.arrayContaining([tool]),
      warnings: expect.arrayContaining([
        { file: ".autocodertools/plain", problem: expect.stringContaining("not used") },
      ]),
    });
  }
  await rm(folder, { recursive: true });
});
