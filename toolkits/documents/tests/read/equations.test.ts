import { describe, expect, it } from "vitest";
import { equationsAsText, mathText } from "../../read/equations.ts";

const run = (text: string): string => `<m:r><m:t>${text}</m:t></m:r>`;
const e = (text: string): string => `<m:e>${run(text)}</m:e>`;

describe("an equation of a Word document", () => {
  it.each([
    ["plain signs", run("x+1"), "x+1"],
    ["a fraction", `<m:f><m:num>${run("a")}</m:num><m:den>${run("b+c")}</m:den></m:f>`, String.raw`\frac{a}{b+c}`],
    ["a power", `<m:sSup>${e("x")}<m:sup>${run("2")}</m:sup></m:sSup>`, "x^{2}"],
    ["an index of a group", `<m:sSub>${e("ab")}<m:sub>${run("n")}</m:sub></m:sSub>`, "{ab}_{n}"],
    ["both", `<m:sSubSup>${e("x")}<m:sub>${run("i")}</m:sub><m:sup>${run("2")}</m:sup></m:sSubSup>`, "x_{i}^{2}"],
    ["a root", `<m:rad><m:radPr><m:degHide m:val="1"/></m:radPr><m:deg/>${e("x")}</m:rad>`, String.raw`\sqrt{x}`],
    ["a third root", `<m:rad><m:deg>${run("3")}</m:deg>${e("x")}</m:rad>`, String.raw`\sqrt[3]{x}`],
    [
      "a sum",
      `<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>${run("i=1")}</m:sub><m:sup>${run("n")}</m:sup>${e("i")}</m:nary>`,
      String.raw`\sum_{i=1}^{n} i`,
    ],
    ["an integral", `<m:nary><m:sub/><m:sup/>${e("f")}</m:nary>`, String.raw`\int f`],
    ["brackets", `<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>${e("a")}${e("b")}</m:d>`, "[a|b]"],
    ["a function", `<m:func><m:fName>${run("sin")}</m:fName>${e("x")}</m:func>`, "sin x"],
    ["a limit", `<m:limLow>${e("lim")}<m:lim>${run("n→∞")}</m:lim></m:limLow>`, "lim_{n→∞}"],
    ["an accent", `<m:acc><m:accPr><m:chr m:val="\u20D7"/></m:accPr>${e("v")}</m:acc>`, String.raw`\vec{v}`],
    [
      "a matrix",
      `<m:m><m:mr>${e("a")}${e("b")}</m:mr><m:mr>${e("c")}${e("d")}</m:mr></m:m>`,
      String.raw`\begin{matrix}a & b \\ c & d\end{matrix}`,
    ],
    ["what is not known", `<m:new>${e("q")}</m:new>`, "q"],
    ["signs of XML", run("a &lt; b &amp; c"), "a < b & c"],
  ])("is written as LaTeX writes %s", (_, xml, text) => {
    expect(mathText(xml)).toBe(text);
  });

  it("takes its place in the text, once for each, by whatever name the document calls equations", () => {
    const xml =
      '<w:document xmlns:q="http://schemas.openxmlformats.org/officeDocument/2006/math"><w:p><q:oMathPara><q:oMathParaPr>' +
      '<q:jc q:val="left"/></q:oMathParaPr><q:oMath><q:r><q:t>a&lt;b</q:t></q:r></q:oMath></q:oMathPara></w:p><w:p>' +
      "<q:oMath><q:r><q:t>c</q:t></q:r></q:oMath></w:p></w:document>";
    expect(equationsAsText(xml)).toEqual({
      count: 2,
      xml:
        '<w:document xmlns:q="http://schemas.openxmlformats.org/officeDocument/2006/math"><w:p><w:r><w:t xml:space="preserve">' +
        '$a&lt;b$</w:t></w:r></w:p><w:p><w:r><w:t xml:space="preserve">$c$</w:t></w:r></w:p></w:document>',
    });
  });

  it("takes no longer for equations and their tags that never end", () => {
    const start = '<x xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">';
    for (const open of ["<m:oMath>", "<m:oMath ", "<m:oMathParaPr>", "<m:oMathPara "]) {
      expect(equationsAsText(start + open.repeat(200_000)).count).toBe(0);
    }
  });

  it("leaves documents without equations as they are", () => {
    const xml = "<w:document><w:p><w:r><w:t>oMath</w:t></w:r></w:p></w:document>";
    expect(equationsAsText(xml)).toEqual({ xml, count: 0 });
  });
});
