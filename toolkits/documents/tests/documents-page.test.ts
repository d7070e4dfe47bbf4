import { execFile } from "node:child_process";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const page = readFileSync(join(projectFolder, "docs/toolkits/documents.md"), "utf8");
const samples = join(projectFolder, "samples/documents");

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json") });
  cpSync(samples, server.config.workspace, { recursive: true });
});
afterAll(() => server.remove());

it("the session of docs/toolkits/documents.md does what it says, step by step", async () => {
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gmu)].map(([, block = ""]) => block);
  expect(blocks).toHaveLength(7);
  const offer = (): Buffer => readFileSync(join(server.config.workspace, "offer.docx"));
  const original = readFileSync(join(samples, "offer.docx"));
  const said: string[] = [];
  for (const block of blocks) {
    if (said.length === 6) expect(offer().equals(original)).toBe(false);
    const lines = block.replaceAll("http://127.0.0.1:2024", server.url);
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", lines]);
    said.push(stdout);
  }
  const [created, read, scanned, made, edited, updated, undone] = said;
  expect(created).toContain("0192d1c4-7d5e-7000-8000-0000000000d0");
  expect(read).toContain("| Oak buckets | 24 | 1 920 € |");
  expect(read).toContain(String.raw`$\\frac{3}{4}$`);
  expect(scanned).toMatch(/There is no text in its page.*OCR/u);
  expect(made).toContain("a Word document made from HTML.");
  expect(edited).toContain("Changed reply.docx (1 place).");
  expect(updated).toContain("a Word document made from Markdown.");
  expect(undone).toContain('{"kind":"removed","text":"| Oak buckets | 24 | 1 920 € |"');
  expect(undone).toContain('{"kind":"added","text":"# Nothing any more"');
  expect(undone).toContain('"status":"undone"');
  expect(offer().equals(original)).toBe(true);
});
