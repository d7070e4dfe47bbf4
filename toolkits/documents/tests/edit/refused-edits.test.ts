import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tools } from "../../../../src/tools/index.ts";
import { packParts, replacePart } from "../../formats/zip-parts.ts";
import { aDocx, richBody } from "./a-docx.ts";
import { edited, main, openEditedFile, type Edit, type EditedFile } from "./edited-file.ts";

let plan: EditedFile;
beforeEach(async () => {
  plan = await openEditedFile();
});
afterEach(() => plan.close());

describe("edit_file of a Word document", () => {
  it.each<[what: string, edits: Edit[], message: RegExp]>([
    [
      "is not found, with the nearest",
      [["We ask for five days.", "x"]],
      /Edit 1: its old_string is not in the file[\s\S]*We ask for three days\./u,
    ],
    [
      "is not unique",
      [
        ["three", "x"],
        ["the", "x"],
      ],
      /Edit 2: its old_string stands in the file \d+ times/u,
    ],
    ["would go with a formula", [[String.raw`is $\frac{3}{4}$ of`, "is all of"]], /which has to stay in its place/u],
    [
      "has another number of cells",
      [["| Axle | 120 € |  |", "| Axle |"]],
      /The new row has 1 cells; those of the table have 3\./u,
    ],
    [
      "would stand in a merged cell",
      [["| Sum |  | 155 € |", "| Sum | 1 | 155 € |"]],
      /the cell before it covers this column/u,
    ],
    [
      "would stand between two rows",
      [["| Axle | 120 € |  |", "| Axle | 120 € |  |\n\ntext"]],
      /cannot stand between two rows/u,
    ],
    ["is a table", [["Yours, the millers", "| a | b |"]], /a table cannot be made by an edit/u],
    ["is a heading of a level that nothing has", [["Yours, the millers", "###### x"]], /no heading of level 6/u],
    ["has characters that no document has", [["three", "a\u0001"]], /characters that no document may have/u],
  ])("changes nothing where the text %s", (_, edits, message) => {
    expect(() => edited(richBody, ...edits)).toThrow(message);
  });

  it("changes nothing where the second of two edits is not found, and says so to the model", async () => {
    const before = aDocx(richBody);
    await plan.put(before);
    const result = await plan.edit(["three days", "four days"], ["no such words", "x"]);
    expect(result).toMatchObject({ success: false, errorType: "invalid_parameter" });
    expect(result.content).toContain('"plan.docx" was not changed. Edit 2: its old_string is not in the file');
    expect(await plan.bytes()).toEqual(before);
  });

  it.each<[what: string, file: () => Uint8Array, message: RegExp]>([
    ["cut off", () => aDocx(richBody).subarray(0, 2000), /damaged or cut off/u],
    [
      "protected with a password",
      () => Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(600)]),
      /protected with a password/u,
    ],
    ["without a text", () => packParts(new Map([["a.xml", Buffer.from("<a/>")]])), /It is not a Word document/u],
    [
      "with a broken part",
      () =>
        replacePart(aDocx(""), main, Buffer.from(`<w:document xmlns:w="x/wordprocessingml/2006/main"><w:body><w:p`)),
      /its parts are damaged/u,
    ],
    [
      "with a part that ends early",
      () =>
        replacePart(aDocx(""), main, Buffer.from(`<w:document xmlns:w="x/wordprocessingml/2006/main"><w:body><w:p>`)),
      /its parts are cut off/u,
    ],
    [
      "that unpacks to more than is read",
      () => replacePart(aDocx(""), main, Buffer.alloc(65 * 1024 * 1024, 32)),
      /too_large|unpacks to/u,
    ],
  ])("says what is wrong with a file %s, and leaves it alone", async (_, file, message) => {
    const before = Buffer.from(file());
    await plan.put(before);
    const result = await plan.edit(["a", "b"]);
    expect(result.success).toBe(false);
    expect(result.content).toMatch(message);
    expect(result.content).toContain('"plan.docx" was not changed.');
    expect(await plan.bytes()).toEqual(before);
  });

  it("refuses documents that it cannot edit, and names what it can", async () => {
    await writeFile(join(plan.workspace.root, "a.pdf"), "%PDF-1.4");
    const result = await plan.workspace.call(tools.edit_file, {
      path: "a.pdf",
      edits: [{ old_string: "a", new_string: "b" }],
    });
    expect(result.content).toContain('"a.pdf" cannot be edited: only text and Word documents (.docx) can.');
  });
});
