import { agentRuns as extensionOf } from "../../src/agent-runs/agent-run.ts";
import { join } from "node:path";
import { createAgentFolders } from "../../src/agents/agent-folders.ts";
import { loadConfig } from "@millrace/engine/config/config";
import { workflow } from "../../src/graph/workflow.ts";
import { createLogger } from "@millrace/engine/logger";
import { createModelLoader } from "@millrace/models/load-model";
import { Runs } from "@millrace/engine/runs/runs";
import type { Storage } from "@millrace/engine/storage/storage";
import { tools } from "../../src/tools/index.ts";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { serve } from "../runs/fixtures.ts";
import type { ModelServer } from "@millrace/testing/model-server";
import { documentsOf, toolkitParts } from "../support/toolkit-services.ts";
import { itemSource } from "../support/item-tool.ts";

/** Runs of the workflow over a storage, as a process has them, with the agents of a workspace. */
export function agentRuns(storage: Storage, workspace: string, model: ModelServer): Runs {
  const logger = createLogger("silent");
  const home = join(workspace, "home");
  const services = {
    ledger: storage.ledger,
    ...toolkitParts(workspace),
    toolSources: [itemSource(storage.tasks)],
    workspace,
    locks: createLocks(),
    defaultModel: "openai:scripted",
    contextLimit: undefined,
    loadModel: createModelLoader(loadConfig({ OPENAI_API_KEY: "key", OPENAI_BASE_URL: model.url })),
    documents: documentsOf(workspace),
    agents: createAgentFolders({ workspace, home, toolNames: Object.keys(tools), logger }),
  };
  const graphs = serve({ agent: workflow.compile() }, storage.checkpointer);
  const extension = extensionOf({ storage, logger, services });
  return new Runs({ storage, graphs, logger, extension, maxConcurrent: 8, retryDelay: 1 });
}
