import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { tools } from "../../../../src/tools/index.ts";
import fc from "fast-check";
import { applyEdits } from "../../../../src/tools/files/apply-edits.ts";
import { editForms } from "../../edit/edit-forms.ts";
import { editWord } from "../../edit/edit-word.ts";
import { packParts, readParts, replacePart } from "../../formats/zip-parts.ts";
import { aDocx, cell, p, r, richBody, row, style, table, wordParts } from "./a-docx.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(async () => await workspace[Symbol.asyncDispose]());

const main = "word/document.xml";
const path = "plan.docx";
const put = async (bytes: Uint8Array): Promise<void> => writeFile(join(workspace.root, path), bytes);
const bytes = async (): Promise<Buffer> => readFile(join(workspace.root, path));
const mainOf = (file: Uint8Array): string =>
  readParts(file, (name) => name === main)
    .get(main)
    ?.toString() ?? "";
const text = async (): Promise<string> => (await workspace.call(tools.read_file, { path })).content ?? "";
type Edit = [old: string, now: string, all?: boolean];
const asEdit = ([old_string, new_string, replace_all]: Edit) => ({ old_string, new_string, replace_all });
const edit = async (...edits: Edit[]) => await workspace.call(tools.edit_file, { path, edits: edits.map(asEdit) });
/** The body of a document after edits of another one. */
function edited(body: string, ...edits: Edit[]): string {
  const { file } = editWord(aDocx(body), edits.map(asEdit));
  return /<w:body>(.*)<w:sectPr>/su.exec(mainOf(file ?? aDocx(body)))?.[1] ?? "";
}

/** Twelve edits as a model makes them from what `read_file` gives. */
const many: Edit[] = [
  ["# Plan for the mill", "# Plan for the old mill"],
  [
    "The **wheel** turns day and night; see [the race](https://example.com/race).",
    "The **wheel** runs day and night; look at [the race](https://example.com/race).",
  ],
  ["Costs & terms are open.", "Costs < terms & are settled."],
  [
    "1.  Clear the race\n2.  Grease the axle",
    "1.  Clear the race\n2.  Mend the gate\n3.  Grease the axle well\n\n### Later\n\nNothing.",
  ],
  ["three days", "four days"],
  [String.raw`ratio is $\frac{3}{4}$ of the flow[1], at`, String.raw`share is $\frac{3}{4}$ of all the flow[1], at`],
  ["| Axle | 120 € |  |", "| Axle | 130 € | oak |\n| Gate | 12 € | new |"],
  ["used<br>but whole", "old<br>but whole"],
  ["Delivery in May\nor in June.", "Delivery in April\nor in July."],
  ["我们需要三天", "我们需要四天"],
  ["Figure 1: the mill", ""],
  ["Yours, the millers", "Yours,\n\nthe millers"],
];

/** The bytes of all entries of a ZIP file but one, with their heads, by name. */
function entries(file: Buffer): Map<string, string> {
  const found = new Map<string, string>();
  let at = 0;
  while (file.readUInt32LE(at) === 0x04034b50) {
    const length = 30 + file.readUInt16LE(at + 26) + file.readUInt16LE(at + 28) + file.readUInt32LE(at + 18);
    const name = file.toString("utf8", at + 30, at + 30 + file.readUInt16LE(at + 26));
    if (name !== main) found.set(name, file.toString("hex", at, at + length));
    at += length;
  }
  return found;
}

describe("edit_file of a Word document", () => {
  it("changes a document with all that one may have in twelve places, and no byte of its other parts", async () => {
    const before = aDocx(richBody);
    await put(before);
    const result = await edit(...many);
    expect(result.message).toBe(
      "Changed plan.docx (12 places); 1 paragraph is empty now and stay, since a picture, a comment or the like is in there.",
    );
    const after = await bytes();
    expect(entries(after).size).toBe(wordParts("").size - 1);
    expect(entries(after)).toEqual(entries(before));
    const said = await text();
    for (const line of [
      "# Plan for the old mill",
      "The **wheel** runs day and night; look at [the race](https://example.com/race).",
      "Costs < terms & are settled.",
      "1.  Clear the race\n2.  Mend the gate\n3.  Grease the axle well\n\n### Later\n\nNothing.\n\nWe ask for four days.",
      "\n[picture]\n",
      String.raw`The share is $\frac{3}{4}$ of all the flow[1], at least.`,
      "| Axle | 130 € | oak |\n| Gate | 12 € | new |\n| Belt | 35 € | old<br>but whole |\n| _Sum_ |  | 155 € |",
      "Delivery in April\nor in July.\n\n水车日夜转动。我们需要四天。\n\nPage\n\nYours,\n\nthe millers\n",
    ]) {
      expect(said).toContain(line);
    }
    // What was tracked, marked or shown stays, and where it was.
    const xml = mainOf(await bytes());
    for (const part of richBody.match(
      /<w:(?:del|commentRange|bookmark|drawing|fldSimple|footnoteRef|commentRef)[^>]*>/gu,
    ) ?? []) {
      expect(xml).toContain(part);
    }
    expect(xml).toMatch(
      /<w:ins w:id="11" [^>]*><w:r><w:t xml:space="preserve">four<\/w:t><\/w:r><\/w:ins><w:del w:id="12"/u,
    );
    expect(xml).toContain(`<w:pPr><w:jc w:val="right"/></w:pPr>${r("12 €")}`);
  });

  const bold = "<w:b/>";
  it.each<[what: string, body: string, edits: Edit[], after: string]>([
    [
      "text over several runs takes the look of the first",
      p(r("Dear ") + r("old ", bold) + r("friend", "<w:i/>") + r("!")),
      [["old friend", "miller"]],
      p(r("Dear ") + r("miller", bold) + r("", "<w:i/>") + r("!")),
    ],
    [
      "words that stay keep their look between others that change",
      p(r("one ") + r("two", bold) + r(" three")),
      [["one two three", "1 two 3"]],
      p(r("1 ") + r("two", bold) + r(" 3")),
    ],
    ["a paragraph goes", p(r("a")) + p(r("b")) + p(r("c")), [["b\n\n", ""]], p(r("a")) + p(r("c"))],
    [
      "one goes beside one that changes",
      p(r("the first part")) + p(r("the second part is long"), style("Normal")),
      [["the first part\n\nthe second part is long", "the second part is short"]],
      p(r("the second part is short"), style("Normal")),
    ],
    [
      "ends of bookmarks stay where a paragraph goes",
      p(r("a")) + p(`<w:bookmarkStart w:id="1" w:name="x"/>${r("b")}<w:bookmarkEnd w:id="1"/>`),
      [["b", ""]],
      `${p(r("a"))}<w:bookmarkStart w:id="1" w:name="x"/><w:bookmarkEnd w:id="1"/>`,
    ],
    [
      "a paragraph comes at the beginning with the look of its kind",
      p(r("Title"), style("Heading1")) + p(r("text", bold), '<w:jc w:val="right"/>'),
      [["# Title", "new\n\n# Title"]],
      p(r("new", bold), '<w:jc w:val="right"/>') +
        p(r("Title"), style("Heading1")) +
        p(r("text", bold), '<w:jc w:val="right"/>'),
    ],
    [
      "a heading comes that only the styles know",
      p(r("a")),
      [["a", "a\n\n## b"]],
      p(r("a")) + p(r("b"), style("Heading2")),
    ],
    [
      "a row goes",
      table(1, [row([cell(p(r("a")))]), row([cell(p(r("b")))])]) + p(""),
      [["| b |\n", ""]],
      table(1, [row([cell(p(r("a")))])]) + p(""),
    ],
    [
      "a table goes with its last row, and so does the text after it",
      p(r("x")) + table(1, [row([cell(p(r("a")))]), row([cell(p(r("b")))])]) + p(r("y")),
      [["| a |\n| --- |\n| b |", ""]],
      p(r("x")) + p(r("y")),
    ],
    [
      "a row comes below a head, and is none",
      table(1, [row([cell(p(r("Head", bold)))], "<w:tblHeader/>")]) + p(""),
      [["| Head |", "| Head |\n| one |"]],
      table(1, [
        row([cell(p(r("Head", bold)))], "<w:tblHeader/>"),
        `<w:tr><w:trPr></w:trPr>${cell(p(r("one", bold)))}</w:tr>`,
      ]) + p(""),
    ],
    [
      "a paragraph between two tables stays, so that they do not become one",
      table(1, [row([cell(p(r("a")))])]) + p(r("between")) + table(1, [row([cell(p(r("b")))])]) + p(""),
      [["between", ""]],
      table(1, [row([cell(p(r("a")))])]) + p("<w:r></w:r>") + table(1, [row([cell(p(r("b")))])]) + p(""),
    ],
    [
      "cells are filled that were empty",
      table(2, [row([cell("<w:p/>"), cell(p("", "<w:rPr><w:b/></w:rPr>"))])]) + p(r("x")),
      [["|  |  |", "| a | b |"]],
      table(2, [row([cell(p(r("a"))), cell(p(r("b", bold), "<w:rPr><w:b/></w:rPr>"))])]) + p(r("x")),
    ],
    [
      "a tab and a break are written",
      p(r("a b")),
      [["a b", "a b<br>c"]],
      p(r('a b</w:t><w:br/><w:t xml:space="preserve">c')),
    ],
    [
      "words around a formula change",
      p(`${r("x ")}<m:oMath><m:r><m:t>a-b+c</m:t></m:r></m:oMath>${r(" y")}`),
      [["x $a-b+c$ y", "z $a-b+c$ y"]],
      p(`${r("z ")}<m:oMath><m:r><m:t>a-b+c</m:t></m:r></m:oMath>${r(" y")}`),
    ],
    ["all places are changed", p(r("a a")) + p(r("a")), [["a", "b", true]], p(r("b b")) + p(r("b"))],
    [
      "marks of the text itself are text",
      p(r("2*3*4 = a_b_c")),
      [["2*3*4 = a_b_c", "2*3*5 = a_b_d"]],
      p(r("2*3*5 = a_b_d")),
    ],
    [
      "blanks count as one",
      p(r("end.  Next\u00A0one")),
      [["end. Next one", "end. Last one"]],
      p(r("end.  Last\u00A0one")),
    ],
  ])("%s", (_, body, edits, after) => {
    expect(edited(body, ...edits)).toBe(after);
  });

  it("knows the text by its namespace, whatever its prefix, in the part that the package names", () => {
    const parts = wordParts(p(r("a")));
    const renamed = mainOf(aDocx(p(r("a"))))
      .replaceAll("xmlns:w=", "xmlns:x=")
      .replaceAll(/(?<=[\s</])w:/gu, "x:");
    parts.delete(main);
    parts.set("word/document2.xml", Buffer.from(renamed));
    parts.set("_rels/.rels", Buffer.from(String(parts.get("_rels/.rels")).replace("document.xml", "document2.xml")));
    const { file } = editWord(packParts(parts), [{ old_string: "a", new_string: "b" }]);
    expect(
      readParts(file ?? new Uint8Array(), () => true)
        .get("word/document2.xml")
        ?.toString(),
    ).toContain('<x:p><x:r><x:t xml:space="preserve">b</x:t></x:r></x:p>');
  });

  it("makes in the lines of a document what the same edits make in its text", () => {
    const line = fc
      .array(fc.constantFrom("a", "b", "ab ", "c"), { minLength: 1, maxLength: 3 })
      .map((all) => all.join("").trim());
    const part = fc
      .array(fc.constantFrom("a", "b", "\n", "c"), { minLength: 1, maxLength: 4 })
      .map((all) => all.join(""));
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 8 }),
        fc.array(fc.tuple(part, part), { minLength: 1, maxLength: 3 }),
        (lines, pairs) => {
          const edits = pairs.map(([old, now]): Edit => [old, now, true]);
          let wanted = lines;
          const isMade = edits.every((one) => {
            const before = wanted.map((line) => `${line}\n`).join("");
            try {
              const { text: after } = applyEdits(before, [asEdit(one)], editForms);
              wanted = after.split("\n").map((line) => line.trim().replaceAll(/ +/gu, " "));
              wanted = wanted.filter((line) => line !== "");
              return true;
            } catch {
              return false;
            }
          });
          fc.pre(isMade);
          const after = edited(lines.map((one) => p(r(one))).join(""), ...edits);
          const said = [...after.matchAll(/<w:p>(.*?)<\/w:p>/gu)].map(([, one = ""]) =>
            one.replaceAll(/<[^>]*>/gu, ""),
          );
          expect(said.map((line) => line.trim().replaceAll(/ +/gu, " "))).toEqual(wanted);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("leaves the file alone where an edit changes nothing but marks", async () => {
    const before = aDocx(p(r("a b")));
    await put(before);
    expect((await edit(["a b", "a **b**"])).message).toBe("The edits leave plan.docx as it is.");
    expect(await bytes()).toEqual(before);
  });

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
    await put(before);
    const result = await edit(["three days", "four days"], ["no such words", "x"]);
    expect(result).toMatchObject({ success: false, errorType: "invalid_parameter" });
    expect(result.content).toContain('"plan.docx" was not changed. Edit 2: its old_string is not in the file');
    expect(await bytes()).toEqual(before);
  });

  it("finds its way in one paragraph of 21,000 characters", async () => {
    let at = 1;
    const letter = (): string => String.fromCodePoint(0x4e00 + ((at = (at * 48_271) % 0x7fff_ffff) % 9001));
    const long = Array.from({ length: 21_000 }, letter).join("");
    expect(edited(p(r(long)), [long.slice(15_000, 15_020), "换"])).toBe(
      p(r(`${long.slice(0, 15_000)}换${long.slice(15_020)}`)),
    );
    await put(aDocx(p(r(long))));
    const wrong = await edit([`${long.slice(16_000, 16_010)}错${long.slice(16_011, 16_020)}`, "x"]);
    expect(wrong.content).toContain(`The nearest text in the file is a part of line 1:`);
    expect(wrong.content).toContain(long.slice(16_000, 16_020));
  });

  it("changes one place and many of a document of 300 pages", async () => {
    const sentence = "The mill race brings water to the wheel and it runs day and night without a rest. ";
    const pages = Array.from({ length: 1500 }, (_, at) => p(r(`Number ${at}: `) + r(sentence.repeat(5), "<w:i/>")));
    await put(aDocx(pages.join("")));
    const first: Edit = ["Number 700: The", "Number 700: A\n\nNumber 700b: The"];
    expect((await edit(first, ["without", "with", true])).success).toBe(true);
    const after = mainOf(await bytes());
    expect(after).toContain(`${p(r("Number 700: A", "<w:i/>"))}<w:p>${r("Number 700b: ")}`);
    expect(after.match(/<w:p>/gu)).toHaveLength(1501);
    expect(after).not.toContain("without");
    expect(after.match(/with a rest/gu)).toHaveLength(7500);
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
    await put(before);
    const result = await edit(["a", "b"]);
    expect(result.success).toBe(false);
    expect(result.content).toMatch(message);
    expect(result.content).toContain('"plan.docx" was not changed.');
    expect(await bytes()).toEqual(before);
  });

  it("refuses documents that it cannot edit, and names what it can", async () => {
    await writeFile(join(workspace.root, "a.pdf"), "%PDF-1.4");
    const result = await workspace.call(tools.edit_file, {
      path: "a.pdf",
      edits: [{ old_string: "a", new_string: "b" }],
    });
    expect(result.content).toContain('"a.pdf" cannot be edited: only text and Word documents (.docx) can.');
  });
});

describe("replacePart", () => {
  it("leaves out the lengths that stand behind a part, and moves those after it", () => {
    // A part whose lengths stand behind it (bit 3), as programs write that stream.
    const plain = packParts(
      new Map([
        ["a", Buffer.from("first")],
        ["b", Buffer.from("second")],
      ]),
    );
    const head = Buffer.from(plain.subarray(0, 31));
    head.writeUInt16LE(0x0808, 6);
    const sizes = Buffer.from(head.subarray(14, 26));
    head.fill(0, 14, 26);
    const descriptor = Buffer.concat([Buffer.from("504b0708", "hex"), sizes]);
    const rest = Buffer.from(plain.subarray(36));
    const list = rest.indexOf(Buffer.from("504b0102", "hex"));
    const second = rest.indexOf(Buffer.from("504b0102", "hex"), list + 4);
    rest.writeUInt16LE(0x0808, list + 8);
    rest.writeUInt32LE(36 + descriptor.length, second + 42);
    rest.writeUInt32LE(36 + descriptor.length + list, rest.length - 6);
    const streamed = Buffer.concat([head, Buffer.from("first"), descriptor, rest]);
    expect(
      readParts(streamed, () => true)
        .get("b")
        ?.toString(),
    ).toBe("second");
    const made = replacePart(streamed, "a", Buffer.from("another"));
    expect([...readParts(made, () => true)].map(([name, part]) => [name, part.toString()])).toEqual([
      ["a", "another"],
      ["b", "second"],
    ]);
    expect(made.includes(descriptor)).toBe(false);
  });

  it("refuses a file that has the part twice, or not at all", () => {
    expect(() => replacePart(packParts(new Map([["a", Buffer.from("x")]])), "b", Buffer.from("y"))).toThrow(/damaged/u);
  });
});
