import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import type { DocumentText } from "../../formats/document-format.ts";
import { equationsAsText } from "../../read/equations.ts";
import { openDocumentText, slidesText } from "../../read/office-text.ts";
import { richText } from "../../read/rich-text.ts";
import { scanXml } from "../../read/scan-xml.ts";
import { workbookText } from "../../read/workbook-text.ts";
import { wordText } from "../../read/word-text.ts";
import { packParts, readParts } from "../../formats/zip-parts.ts";
import { projectFolder } from "../../../../tests/support/source-files.ts";

const offer = readFileSync(join(projectFolder, "samples/documents/offer.docx"));
/** Its parts, not packed, so that a change hits what they say. */
const open = packParts(readParts(offer, () => true));

/** Reads a document in this thread; what is wrong with it is one of the error types of tools. */
async function outcome(read: () => DocumentText | Promise<DocumentText>): Promise<string> {
  try {
    expect(typeof (await read()).text).toBe("string");
    return "read";
  } catch (error) {
    if (isAppError(error)) return error.code;
    throw error;
  }
}
const known = ["read", "invalid_format", "too_large"];

describe("a damaged document is read or refused, and nothing else happens", () => {
  it("when bytes of a Word document are changed", async () => {
    const seen: Record<string, number> = {};
    const changes = fc.array(fc.tuple(fc.nat(open.length - 1), fc.nat(255)), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(changes, async (given) => {
        const file = Buffer.from(open);
        for (const [at, value] of given) file[at] = value;
        const found = await outcome(() => wordText(file));
        expect(known).toContain(found);
        seen[found] = (seen[found] ?? 0) + 1;
      }),
      { numRuns: 60 },
    );
    expect(Object.keys(seen).length).toBeGreaterThan(1);
  });

  it("when a Word document is cut off anywhere", async () => {
    for (let length = 0; length < offer.length; length += 511) {
      expect(await outcome(() => wordText(offer.subarray(0, length)))).toBe("invalid_format");
    }
  });

  const tag = fc.constantFrom(
    ..."w:p w:r w:t m:oMath m:f m:num m:sSup m:e text:p text:h text:list table:table-row table:table-cell a:p a:t row c v f si".split(
      " ",
    ),
  );
  const piece = fc.oneof(
    tag.map((name) => `<${name}>`),
    tag.map((name) => `</${name}>`),
    tag.map((name) => `<${name} r="A1" t='s'/>`),
    fc.constantFrom("<", ">", "&amp;", "&#x41;", "&#99999999;", "<!--", "-->", "<![CDATA[", "]]>", "text", '"', "'"),
    fc.string({ maxLength: 5 }),
  );
  const xml = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));

  it("when its XML makes no sense", async () => {
    await fc.assert(
      fc.asyncProperty(xml, async (text) => {
        const pack = (name: string): Buffer => packParts(new Map([[name, Buffer.from(text)]]));
        for (const _ of scanXml(text)) expect(_).toHaveProperty("kind");
        equationsAsText(`<x xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">${text}`);
        expect(await outcome(() => openDocumentText(pack("content.xml")))).toBe("read");
        expect(await outcome(() => slidesText(pack("ppt/slides/slide1.xml")))).toBe("read");
        expect(await outcome(() => workbookText(pack("xl/workbook.xml")))).toBe("read");
      }),
      { numRuns: 300 },
    );
  });

  it("when Rich Text makes no sense", async () => {
    const word = fc.constantFrom(
      "{",
      "}",
      "\\par",
      "\\u8364 ?",
      "\\u-1",
      "\\'e4",
      "\\*",
      "\\pict",
      "\\uc0",
      "\\uc99999",
      "\\",
      "a b",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 60 }), async (words) => {
        expect(await outcome(() => richText(Buffer.from(`{\\rtf1${words.join("")}`)))).toBe("read");
      }),
      { numRuns: 300 },
    );
  });

  it.each(["constructor", "toString", "__proto__", "hasOwnProperty"])("with %s where a name should be", (name) => {
    expect([...scanXml(`a&${name};b`)]).toEqual([{ kind: "text", text: `a&${name};b` }]);
    expect(richText(Buffer.from(`{\\rtf1 a\\${name.replaceAll("_", "")} b}`)).text).toBe("ab\n");
  });

  // What took more than its length would not end in the time of a test.
  it.each([
    ["a tag that never ends", `<w:p ${'a="'.repeat(2_000_000)}`],
    ["a tag of one long name that never ends", `<w:p ${"a".repeat(20_000_000)}`],
    ["a tag of many values that never ends", `<w:p ${'a="b" '.repeat(3_000_000)}`],
    ["a tag of many values", `<w:p ${"a='' ".repeat(3_000_000)}>`],
    ["quotes without end", `<w:p a="${"'".repeat(5_000_000)}`],
    ["a comment that never ends", "<!--".repeat(1_000_000)],
    ["a section that never ends", "<![CDATA[".repeat(500_000)],
    ["many openings", "<".repeat(2_000_000)],
    ["a declaration that never ends", "<!".repeat(2_000_000)],
    ["an instruction that never ends", "<?".repeat(2_000_000)],
  ])("in a time that grows with its length, with %s", (_, text) => {
    expect([...scanXml(text)].length).toBeLessThan(3);
  });
});
