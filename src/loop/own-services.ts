import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { createAgentFolders, type AgentSource } from "../agents/agent-folders.ts";
import { currentConfig } from "@millrace/engine/config/config";
import { openDocumentation } from "../context/documentation/open-documentation.ts";
import { countText } from "../context/tokens/tokens.ts";
import { hiddenPlaces } from "@millrace/engine/process/folders";
import { createLogger, type Logger } from "@millrace/engine/logger";
import { createModelLoader } from "../models/load-model.ts";
import { openModels } from "../models/registry/registry.ts";
import { openPrompts } from "../prompts/open-prompts.ts";
import { createMemoryLedger, createMemoryTasks } from "@millrace/engine/storage/memory";
import { tools } from "../tools/index.ts";
import { plannerTasks } from "../../toolkits/planner/tools/task-service.ts";
import { Shell } from "../tools/shell/shell.ts";
import { enabledToolkits } from "../toolkits/enabled-toolkits.ts";
import { namedSimulator } from "../../toolkits/circuits/tools/native-engine.ts";
import { createLocks } from "../tools/runtime/locks.ts";
import { openWeb } from "../web/open-web.ts";
import type { RunServices } from "./services.ts";

/** The agents of a workspace, and of the user who runs the program. */
export function openAgents(workspace: string, logger: Pick<Logger, "error">): AgentSource {
  return createAgentFolders({ workspace, home: homedir(), toolNames: Object.keys(tools), logger });
}

let own: RunServices | undefined;

/** The services of a process that nobody lends any, made at the first call. */
export function ownServices(): RunServices {
  if (own === undefined) {
    const settings = currentConfig();
    if (settings.workspaceIsDefault) mkdirSync(settings.workspace, { recursive: true });
    const prompts = openPrompts(settings.dataDir, createLogger(settings.logLevel), countText);
    const models = openModels(settings, createLogger(settings.logLevel));
    own = {
      ledger: createMemoryLedger(),
      tasks: plannerTasks(settings.planner, createMemoryTasks()),
      workspace: settings.workspace,
      toolkits: enabledToolkits(settings.toolkits),
      shell: new Shell({ sandbox: settings.sandbox, hidden: hiddenPlaces(settings) }),
      ...namedSimulator(settings),
      locks: createLocks(),
      defaultModel: settings.model,
      contextLimit: settings.contextLimit,
      loadModel: createModelLoader(settings, { models, prompts }),
      models,
      agents: openAgents(settings.workspace, createLogger(settings.logLevel)),
      documentation: openDocumentation(settings, createLogger(settings.logLevel)).sources,
      web: openWeb(settings.web, () => models.storedKeys()),
      prompts,
    };
  }
  return own;
}
