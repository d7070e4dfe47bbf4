import { dirname, join } from "node:path";
import type { Config } from "../config/config.ts";
import type { Logger } from "../logger.ts";
import type { Graphs } from "./load.ts";
import { learnSchemas, type Learning } from "./schemas/learn-schemas.ts";

/** Works the schemas out before anybody asks: the first time takes a while, and Studio asks at once. */
export function describeAhead(graphs: Graphs, config: Pick<Config, "graphs" | "dataDir">, logger: Logger): Learning {
  return learnSchemas({ graphs, folder: dirname(config.graphs), cache: join(config.dataDir, "schemas"), logger });
}
