import { patchFile } from "./patch-file.ts";
import { plotSimulation } from "./plot-simulation.ts";
import { rewriteFile } from "./rewrite-file.ts";
import { runSimulation } from "./run-simulation.ts";

/** The circuit tools by name. */
export const circuitTools = {
  patch_file: patchFile,
  rewrite_file: rewriteFile,
  run_simulation: runSimulation,
  plot_simulation: plotSimulation,
};
