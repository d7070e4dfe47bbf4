import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { editWord } from "../../edit/edit-word.ts";
import { packParts, readParts } from "../../formats/zip-parts.ts";
import { aDocx, p, r, richBody, wordParts } from "./a-docx.ts";
import { edited, entries, main, mainOf, openEditedFile, type Edit, type EditedFile } from "./edited-file.ts";

let plan: EditedFile;
beforeEach(async () => {
  plan = await openEditedFile();
});
afterEach(() => plan.close());

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

describe("edit_file of a Word document", () => {
  it("changes a document with all that one may have in twelve places, and no byte of its other parts", async () => {
    const before = aDocx(richBody);
    await plan.put(before);
    const result = await plan.edit(...many);
    expect(result.message).toBe(
      "Changed plan.docx (12 places); 1 paragraph is empty now and stay, since a picture, a comment or the like is in there.",
    );
    const after = await plan.bytes();
    expect(entries(after).size).toBe(wordParts("").size - 1);
    expect(entries(after)).toEqual(entries(before));
    const said = await plan.text();
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
    const xml = mainOf(await plan.bytes());
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

  it("leaves the file alone where an edit changes nothing but marks", async () => {
    const before = aDocx(p(r("a b")));
    await plan.put(before);
    expect((await plan.edit(["a b", "a **b**"])).message).toBe("The edits leave plan.docx as it is.");
    expect(await plan.bytes()).toEqual(before);
  });

  it("finds its way in one paragraph of 21,000 characters", async () => {
    let at = 1;
    const letter = (): string => String.fromCodePoint(0x4e00 + ((at = (at * 48_271) % 0x7fff_ffff) % 9001));
    const long = Array.from({ length: 21_000 }, letter).join("");
    expect(edited(p(r(long)), [long.slice(15_000, 15_020), "换"])).toBe(
      p(r(`${long.slice(0, 15_000)}换${long.slice(15_020)}`)),
    );
    await plan.put(aDocx(p(r(long))));
    const wrong = await plan.edit([`${long.slice(16_000, 16_010)}错${long.slice(16_011, 16_020)}`, "x"]);
    expect(wrong.content).toContain(`The nearest text in the file is a part of line 1:`);
    expect(wrong.content).toContain(long.slice(16_000, 16_020));
  });

  it("changes one place and many of a document of 300 pages", async () => {
    const sentence = "The mill race brings water to the wheel and it runs day and night without a rest. ";
    const pages = Array.from({ length: 1500 }, (_, at) => p(r(`Number ${at}: `) + r(sentence.repeat(5), "<w:i/>")));
    await plan.put(aDocx(pages.join("")));
    const first: Edit = ["Number 700: The", "Number 700: A\n\nNumber 700b: The"];
    expect((await plan.edit(first, ["without", "with", true])).success).toBe(true);
    const after = mainOf(await plan.bytes());
    expect(after).toContain(`${p(r("Number 700: A", "<w:i/>"))}<w:p>${r("Number 700b: ")}`);
    expect(after.match(/<w:p>/gu)).toHaveLength(1501);
    expect(after).not.toContain("without");
    expect(after.match(/with a rest/gu)).toHaveLength(7500);
  });
});
