import { circuitFile } from "./circuit-file.ts";
import type { Collector } from "./collector.ts";
import { dependencies } from "./dependencies.ts";
import { designGoals } from "./design-goals.ts";
import { diagnostics } from "./diagnostics.ts";
import { searchHits } from "./search-hits.ts";
import { simulation } from "./simulation.ts";

/** Every collector. Of those with the same priority the first in this list comes first. */
export const collectors: readonly Collector[] = [
  diagnostics,
  circuitFile,
  dependencies,
  designGoals,
  simulation,
  searchHits,
];
