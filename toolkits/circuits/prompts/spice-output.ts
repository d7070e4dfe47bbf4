import { defineTemplate } from "../../../src/prompts/template.ts";

/** FORMAT_SPICE_OUTPUT: the format of a netlist. */
export const spiceOutput = defineTemplate({
  name: "spice_output",
  title: { en: "Format: SPICE", zh: "输出格式：SPICE" },
  description: "How an answer gives a circuit.",
  content: [
    "Give the whole circuit in one fenced block, never a part of it:",
    "```spice",
    "* title line",
    ".param rload=10k",
    "R1 out 0 {rload}",
    ".end",
    "```",
    "The first line is the title, node 0 is ground, the last line is .end. Use the syntax of ngspice and no file from elsewhere.",
  ].join("\n"),
});
