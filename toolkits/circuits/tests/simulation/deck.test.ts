import { describe, expect, it } from "vitest";
import { analysisTypes, readAnalysis } from "../../simulation/deck/analysis.ts";
import { deckText, prepareDeck, type Deck } from "../../simulation/deck/deck.ts";
import { readRawFile } from "../../simulation/raw-file.ts";
import { parseSpiceNumber } from "../../simulation/deck/spice-number.ts";

async function prepare(files: Record<string, string>): Promise<Deck> {
  return await prepareDeck("deck.cir", async (path) => {
    const text = files[path];
    if (text === undefined) throw new Error(`no ${path}`);
    return text;
  });
}

describe("a circuit with its files", () => {
  it("becomes one text: title, statements, one analysis", async () => {
    const deck = await prepare({
      "deck.cir":
        "Low-pass\n.include parts/r.inc\nC1 out 0\n+ 1u ; a comment\n* another\n.op\n.AC dec 10 1 1k\n.print v(out)\n.end\nR9 a b 1\n",
      "parts/r.inc": "R1 in out 1k\n.include more.inc\n",
      "parts/more.inc": "V1 in 0 dc 1 ac 1\n",
    });
    expect(deck.title).toBe("Low-pass");
    expect(deck.analyses.map(({ card }) => card)).toEqual([".op", ".ac dec 10 1 1k"]);
    expect(deck.notes).toEqual(["Left out: .print."]);
    const [, ac] = deck.analyses;
    expect(ac && deckText(deck, ac, "T").split("\n")).toEqual([
      "T",
      "R1 in out 1k",
      "V1 in 0 dc 1 ac 1",
      "C1 out 0 1u",
      ".ac dec 10 1 1k",
      ".end",
      "",
    ]);
  });

  it("takes the named section of a library, and nothing else of it", async () => {
    const deck = await prepare({
      "deck.cir": "T\n.lib corners.lib ff\nR1 a 0 {r}\nV1 a 0 1\n.op\n",
      "corners.lib": ".lib tt\n.param r=1k\n.endl\n.lib ff\n.param r=2k\n.endl ff\n",
    });
    expect(deck.statements.map(({ text }) => text)).toEqual([".param r=2k", "R1 a 0 {r}", "V1 a 0 1"]);
  });

  it("passes on only the options that are numbers for the simulator", async () => {
    const deck = await prepare({ "deck.cir": "T\n.options reltol = 1e-4 post acct method=gear\nV1 a 0 1\n" });
    expect(deck.statements[0]?.text).toBe(".options reltol=1e-4 method=gear");
    expect(deck.notes).toEqual(["Left out: option post, option acct."]);
  });

  it("runs the analyses of a control part without it", async () => {
    const deck = await prepare({ "deck.cir": "T\nV1 a 0 1\nR1 a 0 1\n.control\nac dec 5 1 1k\nplot v(a)\n.endc\n" });
    expect(deck.analyses).toEqual([{ type: "ac", card: ".ac dec 5 1 1k" }]);
    expect(deck.notes.join()).toContain("control part is left out");
  });

  it.each([
    "RC low-pass: cut-off at 1 / (2 pi R C) = 159.155 Hz",
    "Inverting stage with gain 10 around a one-pole op-amp",
    "CMOS differential pair with current mirror and load",
  ])("takes a title in words as it is: %s", async (title) => {
    expect((await prepare({ "deck.cir": `${title}\nV1 in 0 1\nR1 in 0 1k\n` })).notes).toEqual([]);
  });

  it.each(["V1 in 0 1", "Rload out 0 1k", ".op"])("says so when the title looks like %s", async (title) => {
    expect((await prepare({ "deck.cir": `${title}\nV2 in 0 1\nR1 in 0 1k\n` })).notes.join()).toContain(
      "first line is the title",
    );
  });

  it.each([
    ["comments before a separator of lines", `${";".repeat(100_000)}\u2028x`],
    ["blanks", `.options a${" ".repeat(100_000)}x`],
    ["lines that continue with nothing", `.options a\n${"+\n".repeat(100_000)}+ x`],
    [
      "names that are nearly those of files",
      Array.from({ length: 40 }, () => `R1 a 0 ${"file".repeat(4900)}`).join("\n"),
    ],
  ])("is read at once with very many %s", async (_, text) => {
    const { analyses } = await prepare({ "deck.cir": `T\nV1 a 0 1\n${text}\n.op\n` });
    expect(analyses.map(({ card }) => card)).toEqual([".op"]);
  });

  it("wants an element", async () => {
    await expect(prepare({ "deck.cir": "T\n.op\n" })).rejects.toMatchObject({ code: "invalid_parameter" });
  });
});

it.each([
  ["1", 1],
  ["-2.5e3", -2500],
  ["4.7k", 4700],
  ["1MEG", 1e6],
  ["1m", 1e-3],
  ["10uF", 1e-5],
  ["100nH", 1e-7],
  [".5p", 5e-13],
  ["2mil", 50.8e-6],
  ["3Volt", 3],
  ["1k5", undefined],
  ["abc", undefined],
  ["", undefined],
])("reads the number %s as %s", (text, value) => {
  const read = parseSpiceNumber(text);
  if (value === undefined) expect(read).toBeUndefined();
  else expect(read).toBeCloseTo(value, 12);
});

it.each([
  ["ac dec 0 1 1k"],
  [".ac dec 10 1k 1"],
  [".ac log 10 1 1k"],
  [".tran 1m"],
  [".tran 0 1"],
  [".tran 1u 1m 2m"],
  [".dc V1 0 1"],
  [".dc V1 0 1 -1"],
  [".noise out V1 dec 10 1 1k"],
  [".op now"],
  [".pz in 0 out 0 vol pol"],
])("refuses the analysis %s and says what one looks like", (text) => {
  expect(() => readAnalysis(text, "deck.cir:1")).toThrow("deck.cir:1");
});

it("knows five analyses", () => {
  expect(analysisTypes).toEqual(["op", "dc", "ac", "tran", "noise"]);
  expect(readAnalysis("NOISE v(out,ref)  V1 dec 10 1 1k", "x").card).toBe(".noise v(out,ref) V1 dec 10 1 1k");
});

it.each([
  ["nothing", ""],
  ["no header", "\nBinary:\n"],
  [
    "too few values",
    "Title: t\nFlags: real\nNo. Variables: 1\nNo. Points: 2\nVariables:\n\t0\tv(a)\tvoltage\nBinary:\n12345678",
  ],
])("a raw file with %s is no result", (_, text) => {
  expect(() => readRawFile(Buffer.from(text))).toThrow("cannot be read");
});
