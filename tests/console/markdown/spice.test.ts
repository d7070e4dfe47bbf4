import { describe, expect, it } from "vitest";
import { paintNetlist } from "../../../console/markdown/spice.ts";

function painted(text: string): string[] {
  const found: string[] = [];
  paintNetlist(text, (from, to, classes) => found.push(`${text.slice(from, to)} ${classes.replace("tok-", "")}`));
  return found;
}

describe("the colours of a netlist", () => {
  it.each<[string, string, string[]]>([
    ["the title", "RC low pass of 1 kHz", ["RC low pass of 1 kHz comment"]],
    ["no title where a part stands", "R1 in out 1.5k", ["R1 typeName", "1.5k number"]],
    [
      "comments",
      "t\n* all 5 V\nC1 a 0 1u ; one\n.op $ two",
      [
        "t comment",
        "* all 5 V comment",
        "C1 typeName",
        "0 number",
        "1u number",
        "; one comment",
        ".op keyword",
        "$ two comment",
      ],
    ],
    [
      "models",
      ".model nch nmos level=1 vto = -0.7",
      [".model keyword", "level propertyName", "1 number", "vto propertyName", "0.7 number"],
    ],
    [
      "numbers",
      "X1 2n3904 10meg 1e-12 .5 5Ω n1",
      ["X1 typeName", "10meg number", "1e-12 number", ".5 number", "5Ω number"],
    ],
    ["texts", '.include "a 1.lib"', [".include keyword", '"a 1.lib" string']],
    ["lines that go on", "V1 in 0\n+ ac 1", ["V1 typeName", "0 number", "1 number"]],
  ])("has %s", (_, text, pieces) => {
    expect(painted(text)).toEqual(pieces);
  });
});
