import { describe, expect, it } from "vitest";
import { identityCircuit } from "../prompts/identity-circuit.ts";
import { circuits } from "../index.ts";
import { promptParts } from "../../../src/toolkits/composition.ts";

describe("the texts about circuits", () => {
  it("are in the list, with the format of their answers", () => {
    const { templates } = promptParts([circuits]);
    const formats = Object.fromEntries(
      Object.entries(templates).flatMap(([name, { format }]) => (format === null ? [] : [[name, format.name]])),
    );
    expect(formats).toEqual({
      clarify: "json",
      extract_design_goals: "json",
      analyze_simulation: "analysis",
      initial_design: "spice",
      optimize_parameters: "spice",
      fix_error: "spice",
      execute_instruction: "spice",
    });
    expect(Object.keys(templates)).toEqual(
      expect.arrayContaining(["analysis_output", "spice_output", "diagnostics", "identity_circuit", "write_report"]),
    );
  });

  it("covers what an expert for circuits is, can do and must not do (PROMPT-20)", () => {
    const text = identityCircuit.content;
    expect(text.match(/^\d\. /gmu)).toHaveLength(7);
    for (const words of [
      "expert for analog and mixed-signal circuits. You work freely",
      "Design circuits",
      "Analyse and optimise",
      "Debug errors",
      "Explain circuits",
      "Suggest improvements",
      "Write and change SPICE netlists",
      "Interpret the results",
      "```spice",
      "Say why you choose",
      "trade-offs",
      "next step",
      "ambiguous, say what you take it for and ask",
      "improvements that nobody asked about",
      "Stay with analog and mixed-signal",
      "syntax that ngspice understands",
      "can be built with parts that can be had",
      "not sure",
    ]) {
      expect(text).toContain(words);
    }
  });
});
