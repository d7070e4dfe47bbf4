import { circuitFile } from "./collectors/circuit-file.ts";
import { dependencies } from "./collectors/dependencies.ts";
import { designGoals } from "./collectors/design-goals.ts";
import { diagnostics } from "./collectors/diagnostics.ts";
import { simulation } from "./collectors/simulation.ts";
import { analysisOutput } from "./prompts/analysis-output.ts";
import { analyzeSimulation } from "./prompts/analyze-simulation.ts";
import { diagnostics as diagnosticsText } from "./prompts/diagnostics.ts";
import { extractDesignGoals } from "./prompts/extract-design-goals.ts";
import { fixError } from "./prompts/fix-error.ts";
import { initialDesign } from "./prompts/initial-design.ts";
import { optimizeParameters } from "./prompts/optimize-parameters.ts";
import { spiceOutput } from "./prompts/spice-output.ts";
import { circuitTools } from "../../src/tools/index.ts";
import type { Toolkit } from "../../src/toolkits/toolkit.ts";

/** Design of electronic circuits (CIRC). */
export const circuits: Toolkit = {
  name: "circuits",
  title: { en: "Circuits", zh: "电路设计" },
  description: {
    en: "Simulates and changes circuits, and knows the netlists, results and goals that a session works on.",
    zh: "仿真并修改电路，了解会话所处理的网表、仿真结果和设计目标。",
  },
  tools: Object.values(circuitTools),
  templates: [
    analysisOutput,
    analyzeSimulation,
    diagnosticsText,
    extractDesignGoals,
    fixError,
    initialDesign,
    optimizeParameters,
    spiceOutput,
  ],
  identity: "circuit",
  collectors: [circuitFile, dependencies, designGoals, diagnostics, simulation],
  guardrails: [],
  enabled: "default",
};
