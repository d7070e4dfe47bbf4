import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { currentConfig } from "@millrace/engine/config/config";
import { errorMessage, explain, isAppError } from "@millrace/engine/errors/errors";
import { loadGraphs } from "@millrace/engine/graphs/load";
import { createLogger } from "@millrace/engine/logger";
import { openCustomParts } from "@millrace/engine/manifest/custom-parts";
import { agentGraphs } from "../src/agent-runs/agent-run.ts";
import type { FolderCheck } from "./develop.ts";

/** Checks whether a manifest's modules load, as a start would; the start reuses what was loaded here. */
export async function checkGraphs(defaults: Record<string, string> | undefined): Promise<FolderCheck> {
  try {
    const config = currentConfig(defaults);
    await openCustomParts(config.graphs, createLogger("silent"));
    const { problems } = await loadGraphs(config.graphs, new MemorySaver(), config.loadSeconds * 1_000, agentGraphs);
    return { problems: problems.map(({ graph_id, message }) => ({ graph_id, message })) };
  } catch (error) {
    return { problems: [], failure: isAppError(error) ? explain(error) : errorMessage(error) };
  }
}
