import { dirname, join } from "node:path";
import type { Config } from "../config.ts";
import type { Logger } from "../logger.ts";
import { learnSchemas, type Learning } from "./learn-schemas.ts";
import type { Graphs } from "./load.ts";

/** Works the schemas out before anybody asks: the first time takes a while, and Studio asks at once. */
export function describeAhead(graphs: Graphs, config: Pick<Config, "graphs" | "dataDir">, logger: Logger): Learning {
  setImmediate(() => {
    for (const id of graphs.ids()) {
      try {
        graphs.schemas(id);
      } catch (error) {
        logger.warn({ err: error, graph_id: id }, "schemas_not_described");
      }
    }
  });
  return learnSchemas({ graphs, folder: dirname(config.graphs), cache: join(config.dataDir, "schemas"), logger });
}
