import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyEdits } from "../../../../src/tools/files/apply-edits.ts";
import { editForms } from "../../edit/edit-forms.ts";
import { cell, p, r, row, style, table } from "./a-docx.ts";
import { asEdit, edited, type Edit } from "./edited-file.ts";

describe("the paragraphs and tables of an edited Word document", () => {
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
});
