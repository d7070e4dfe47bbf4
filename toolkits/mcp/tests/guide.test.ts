import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/testing.ts";

const run = promisify(execFile);
let folder = "";
let server: TestServer;
let guide = "";

const blocks = (kind: string): string[] =>
  [...guide.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, "gmu"))].map(([, block]) => block ?? "");

beforeAll(async () => {
  guide = await readFile(join(projectFolder, "docs/toolkits/mcp.md"), "utf8");
  folder = await mkdtemp(join(tmpdir(), "millrace-mcp-guide-"));
  const mcpFile = join(folder, "mcp.json");
  await writeFile(mcpFile, (blocks("json")[0] ?? "").replace('"cwd": ".."', `"cwd": ${JSON.stringify(projectFolder)}`));
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), mcpFile });
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

describe("docs/toolkits/mcp.md", () => {
  it("does by curl what it promises", async () => {
    const commands = blocks("sh").map((block) => block.replaceAll("http://127.0.0.1:2024", server.url));
    expect(commands).toHaveLength(2);
    const first = await run("bash", ["-euc", commands[0] ?? ""]);
    expect(first.stdout).toContain("__interrupt__");
    expect(first.stdout).toContain('\\"echo\\" of the MCP server \\"everything\\"');
    const second = await run("bash", ["-euc", commands[1] ?? ""]);
    expect(second.stdout).not.toContain("__interrupt__");
    expect(second.stdout).toContain("Echo: Good morning");
  });
});

describe("a program without MCP servers", () => {
  it("loads nothing of the SDK, not even when it starts", async () => {
    const program = `
      import { registerHooks } from "node:module";
      const loaded = [];
      registerHooks({ resolve: (name, context, next) => {
        const found = next(name, context);
        loaded.push(found.url);
        return found;
      } });
      await import(${JSON.stringify(join(projectFolder, "src/server.ts"))});
      await import(${JSON.stringify(join(projectFolder, "src/graph/workflow.ts"))});
      console.log(JSON.stringify({
        all: loaded.length,
        source: loaded.filter((url) => url.endsWith("/mcp-source.ts")).length,
        sdk: loaded.filter((url) => url.includes("modelcontextprotocol")),
      }));`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd: folder });
    const { all, source, sdk } = JSON.parse(stdout);
    expect(all).toBeGreaterThan(100);
    expect(source).toBeGreaterThan(0);
    expect(sdk).toEqual([]);
  });
});
