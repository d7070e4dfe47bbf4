import { readdir, truncate } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { inThread } from "../../formats/document-thread.ts";
import { packParts } from "../../formats/zip-parts.ts";
import { aWordDocument, openDocumentFiles, pack, paragraph, type DocumentFiles } from "./document-files.ts";

let files: DocumentFiles;
beforeEach(async () => {
  files = await openDocumentFiles();
});
afterEach(() => files.close());

describe("read_file of what is no such document", () => {
  it.each([
    [
      "text under the name of a Word document",
      "a.docx",
      Buffer.from("# Plan\n"),
      "invalid_format",
      /is not a Word document: it is plain text\. .*\.txt/u,
    ],
    ["an empty file", "a.docx", Buffer.alloc(0), "invalid_format", /it is empty/u],
    ["a PDF under another name", "a.docx", Buffer.from("%PDF-1.4\n"), "invalid_format", /it is a PDF/u],
    [
      "a protected one",
      "a.docx",
      Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0, 0]),
      "invalid_format",
      /protected with a password/u,
    ],
    [
      "a workbook as a Word document",
      "a.docx",
      pack({ "xl/workbook.xml": "<workbook/>" }),
      "invalid_format",
      /not a Word document/u,
    ],
    ["a Word document as a workbook", "a.xlsx", aWordDocument(paragraph("a")), "invalid_format", /not a workbook/u],
    ["half of one", "a.docx", aWordDocument(paragraph("a")).subarray(0, 600), "invalid_format", /damaged or cut off/u],
    ["parts that do not fit", "a.docx", pack({ "word/document.xml": "<" }), "invalid_format", /parts do not fit/u],
    [
      "text under the name of a PDF",
      "a.pdf",
      Buffer.from("Hello\n"),
      "invalid_format",
      /is not a PDF: it is plain text/u,
    ],
    ["the beginning of a PDF", "a.pdf", Buffer.from("%PDF-1.7\n%%EOF\n"), "invalid_format", /cannot be read as a PDF/u],
    [
      "a document of an older program",
      "a.doc",
      Buffer.from([0xd0, 0xcf, 0x11, 0xe0]),
      "invalid_format",
      /older program.*\.docx/u,
    ],
    ["binary under the name of Rich Text", "a.rtf", Buffer.from([1, 0, 2]), "invalid_format", /some binary file/u],
  ])("says so: %s", async (_, path, bytes, errorType, message) => {
    await files.put(path, bytes);
    const result = await files.read(path);
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).toMatch(message);
    expect(result.content).not.toContain(files.workspace.root);
    expect(await readdir(files.workspace.root)).toEqual([path]);
  });

  it("refuses a file of 200 MB without reading it", async () => {
    for (const path of ["a.docx", "a.pdf"]) {
      await files.put(path, Buffer.from("PK"));
      await truncate(join(files.workspace.root, path), 200 * 1024 * 1024);
      const result = await files.read(path);
      expect(result).toMatchObject({ success: false, errorType: "too_large" });
      expect(result.content).toContain("has 200 MB; the text of a document is read up to 50 MB.");
    }
  });

  it("refuses a Word document that unpacks to 200 MB", async () => {
    const parts = new Map([["word/document.xml", Buffer.alloc(200 * 1024 * 1024)]]);
    await files.put("bomb.docx", packParts(parts, { isPacked: true }));
    const result = await files.read("bomb.docx");
    expect(result).toMatchObject({ success: false, errorType: "too_large" });
    expect(result.content).toContain('"bomb.docx" cannot be read. It unpacks to more than 64 MB');
  });

  it("gives up a Word document that is nested without end", async () => {
    const depth = 200_000;
    await files.put("a.docx", aWordDocument("<w:p>".repeat(depth) + "</w:p>".repeat(depth)));
    expect((await files.read("a.docx")).success).toBe(false);
  });

  it("lets other work go on while a long one is read", async () => {
    await files.put(
      "a.docx",
      aWordDocument(Array.from({ length: 8000 }, () => paragraph("Some words of a line.")).join("")),
    );
    const delays = monitorEventLoopDelay({ resolution: 5 });
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    delays.enable();
    count();
    const result = await files.read("a.docx", { start_line: 15_000 });
    isOver = true;
    delays.disable();
    expect(result.content).toContain("lines 15000-");
    // A thread of its own leaves thousands of turns to the others; in this one it would be a handful.
    expect(turns).toBeGreaterThan(200);
  });

  it("ends the thread with the call, and says when it took too long", async () => {
    const file = new Uint8Array(aWordDocument(paragraph("Some words.")));
    const stop = new AbortController();
    const reading = inThread({ kind: "read", format: "docx", file }, stop.signal);
    stop.abort(new Error("stopped"));
    await expect(reading).rejects.toThrow("stopped");
    const { signal } = new AbortController();
    await expect(inThread({ kind: "read", format: "docx", file }, signal, 1)).rejects.toMatchObject({
      code: "timeout",
    });
    const many = Array.from({ length: 5 }, async () => inThread({ kind: "read", format: "docx", file }, signal));
    expect((await Promise.all(many)).map(({ kind }) => kind)).toEqual(Array(5).fill("text"));
  });
});
