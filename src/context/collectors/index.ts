import { circuitFile } from "../../../toolkits/circuits/collectors/circuit-file.ts";
import type { Collector } from "./collector.ts";
import { dependencies } from "../../../toolkits/circuits/collectors/dependencies.ts";
import { designGoals } from "../../../toolkits/circuits/collectors/design-goals.ts";
import { diagnostics } from "../../../toolkits/circuits/collectors/diagnostics.ts";
import { searchHits } from "./search-hits.ts";
import { simulation } from "../../../toolkits/circuits/collectors/simulation.ts";

/** Every collector. Of those with the same priority the first in this list comes first. */
export const collectors: readonly Collector[] = [
  diagnostics,
  circuitFile,
  dependencies,
  designGoals,
  simulation,
  searchHits,
];
