import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { encodingTable } from "../../read/pdf-encodings.ts";
import { tools } from "../../../../src/tools/index.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { aPdfInEncoding } from "./document-files.ts";
import type { ToolResult } from "../../../../src/tools/runtime/result.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(async () => await workspace[Symbol.asyncDispose]());

async function read(encoding: string, ordering: string, codes: string): Promise<ToolResult> {
  await writeFile(join(workspace.root, "a.pdf"), aPdfInEncoding(encoding, ordering, codes));
  return await workspace.call(tools.read_file, { path: "a.pdf" });
}
const utf16 = (text: string): string => Buffer.from(text, "utf16le").swap16().toString("hex");

it.each([
  ["GBK-EUC-H", "GB1", "B5E7D7E8203130206B", "电阻 10 k"],
  ["GBKp-EUC-H", "GB1", "B5E7D7E8A3AC52", "电阻，R"],
  ["GB-EUC-V", "GB1", "D6D0CEC4", "中文"],
  ["UniGB-UCS2-H", "GB1", utf16("中文 A10，电压"), "中文 A10，电压"],
  ["UniGB-UTF16-H", "GB1", utf16("电路图"), "电路图"],
  ["ETen-B5-H", "CNS1", "A4A4A4E5", "中文"],
  ["UniCNS-UCS2-H", "CNS1", utf16("電壓"), "電壓"],
  ["90ms-RKSJ-H", "Japan1", "93FA967B8CEAB1", "日本語ｱ"],
  ["EUC-H", "Japan1", "C6FCCBDC", "日本"],
  ["H", "Japan1", "467C4B5C", "日本"],
  ["UniJIS-UCS2-HW-H", "Japan1", utf16("日本 8"), "日本 8"],
  ["KSCms-UHC-H", "Korea1", "C7D1B1B9", "한국"],
  ["UniKS-UCS2-H", "Korea1", utf16("한국어"), "한국어"],
])("reads text in %s, which the file only names", async (encoding, ordering, codes, text) => {
  const { content } = await read(encoding, ordering, codes);
  expect(content?.replaceAll(/\s+/gu, " ")).toContain(`## Page 1 ${text}`);
  expect(content).toContain("plain");
  expect(content).not.toContain("without");
});

it("reports the number of codes without a character", async () => {
  expect((await read("GBK-EUC-H", "GB1", "B5E7A2ABA2ACD7E8")).content).toMatch(
    /^\[a\.pdf: the text of a PDF, without 2 characters of which the file does not say what they are \(�\)\]\n## Page 1\n\n电��阻\nplain/u,
  );
});

it("reports glyphs without a character map", async () => {
  const { content } = await read("Identity-H", "GB1", "112211330022");
  expect(content).toContain("without 2 characters of which the file does not say what they are (�)");
  // The Latin letters of a collection are known.
  expect(content).toContain("��A");
});

it("names an encoding that it does not know", async () => {
  expect((await read("CNS-EUC-H", "CNS1", "A4A4A4E5")).content).toMatch(
    /^\[a\.pdf: the text of a PDF, without text in the encoding CNS-EUC-H, which is not known here\]\n[\s\S]*plain/u,
  );
});

it.each(["Identity-H", "Adobe-None-UCS2", "", "X-H", "constructor-H", "toString-V"])("has no table %j", (name) => {
  expect(encodingTable(name)).toBeUndefined();
});
