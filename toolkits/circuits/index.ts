import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { isWanted } from "./is-wanted.ts";
import { circuitFile } from "./collectors/circuit-file.ts";
import { aboutCircuits } from "./collectors/circuit-place.ts";
import { dependencies } from "./collectors/dependencies.ts";
import { designGoals } from "./collectors/design-goals.ts";
import { diagnostics } from "./collectors/diagnostics.ts";
import { searchHits } from "./collectors/search-hits.ts";
import { simulation } from "./collectors/simulation.ts";
import { analysisOutput } from "./prompts/analysis-output.ts";
import { diagnostics as diagnosticsText } from "./prompts/diagnostics.ts";
import { identityCircuit } from "./prompts/identity-circuit.ts";
import { spiceOutput } from "./prompts/spice-output.ts";
import { circuitRoutes } from "./routes/circuits.ts";
import { fileRoutes } from "./routes/files.ts";
import { iterationRoutes } from "./routes/iterations.ts";
import { circuitTools } from "./tools/index.ts";
import { openCircuits } from "./open.ts";
import { circuitWorkflow } from "./workflow.ts";

/** Circuit design: each iteration is simulated, reviewed, and waits for a decision. */
export const circuits = defineToolkit({
  name: "circuits",
  title: { en: "Circuits", zh: "电路设计" },
  description: {
    en: "Simulates and changes circuits, and knows the netlists, results and goals that a session works on.",
    zh: "仿真并修改电路，了解会话所处理的网表、仿真结果和设计目标。",
  },
  enabled: "default",
  tools: Object.values(circuitTools),
  isWanted,
  templates: [analysisOutput, diagnosticsText, spiceOutput],
  identity: { profile: "circuit", template: identityCircuit },
  collectors: [diagnostics, circuitFile, dependencies, designGoals, simulation, searchHits].map(aboutCircuits),
  workflow: circuitWorkflow,
  open: openCircuits,
  routes: [circuitRoutes, fileRoutes, iterationRoutes],
});
