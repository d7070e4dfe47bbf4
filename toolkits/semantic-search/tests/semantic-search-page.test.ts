import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "@millrace/testing/free-port";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const page = readFileSync(join(projectFolder, "docs/toolkits/semantic-search.md"), "utf8");
const blocksOf = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gmu"))].map(([, block = ""]) => block);

let folder: string;
let vectors: ChildProcess;
let server: TestServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-vectors-"));
  const file = join(folder, "vectors.mjs");
  writeFileSync(file, blocksOf("js")[0] ?? "");
  const port = await freePort();
  vectors = spawn(process.execPath, [file], { env: { VECTORS_PORT: String(port) } });
  const body = JSON.stringify({ input: ["ready?"] });
  await vi.waitFor(() => fetch(`http://127.0.0.1:${port}`, { method: "POST", body }), { timeout: 20_000 });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    embeddingModel: "openai:words",
    openai: { apiKey: "none", baseUrl: `http://127.0.0.1:${port}/v1` },
  });
});
afterAll(async () => {
  vectors.kill();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

it("the session of docs/toolkits/semantic-search.md does what it says, step by step", async () => {
  const said: string[] = [];
  for (const block of blocksOf("sh")) {
    const lines = block.replaceAll("http://127.0.0.1:2024", server.url);
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", lines]);
    said.push(stdout);
  }
  const [written, found, ...others] = said;
  expect(others).toEqual([]);
  expect(written).toContain("pets.md");
  const hits = [...(found ?? "").matchAll(/"hits":\[\{"path":"([^"]+)"/gu)].map(([, path]) => path);
  expect(hits).toEqual(["login.js", "login.js"]);
  expect([...(found ?? "").matchAll(/"embedded":(\d)/gu)].map(([, count]) => count)).toEqual(["2", "0"]);
});
