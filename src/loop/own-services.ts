import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { createAgentFolders, type AgentSource } from "../agents/agent-folders.ts";
import { currentConfig } from "@millrace/engine/config/config";
import { rulesDocument } from "../context/documentation/rules-document.ts";
import { countText } from "../context/tokens/tokens.ts";
import { createLogger, type Logger } from "@millrace/engine/logger";
import { withModelByKey } from "@millrace/models/choose-model";
import { createModelLoader } from "@millrace/models/load-model";
import { openModels } from "@millrace/models/registry/registry";
import { offline } from "@millrace/offline/offline";
import { openPrompts } from "../prompts/open-prompts.ts";
import { describeToolsBy } from "../prompts/templates/xml-tools.ts";
import { createMemoryLedger, createMemoryTasks } from "@millrace/engine/storage/memory";
import { createRuleFolders } from "../user-rules/rule-folders.ts";
import { promptParts } from "../toolkits/composition.ts";
import { builtInTools, enabledToolkits } from "../toolkits/enabled-toolkits.ts";
import { openToolkits, withToolkitStores } from "../toolkits/open-toolkits.ts";
import { createLocks } from "../tools/runtime/locks.ts";
import type { RunServices } from "./services.ts";

/** Agents from the workspace and the user's home. */
export function openAgents(workspace: string, logger: Pick<Logger, "error">): AgentSource {
  return createAgentFolders({ workspace, home: homedir(), toolNames: Object.keys(builtInTools()), logger });
}

let own: RunServices | undefined;

/** Services for a process without our server, created on first use. */
export function ownServices(): RunServices {
  if (own === undefined) {
    const settings = withModelByKey(currentConfig());
    if (settings.workspaceIsDefault) mkdirSync(settings.workspace, { recursive: true });
    const logger = createLogger(settings.logLevel);
    const prompts = openPrompts(settings.dataDir, promptParts(), logger, countText);
    const models = openModels(settings, logger, { offline });
    const { workspace } = settings;
    const storage = withToolkitStores(settings, { tasks: createMemoryTasks() });
    const opened = openToolkits({ config: settings, models, workspace, logger, storage });
    const rules = createRuleFolders({ workspace, home: homedir(), logger });
    own = {
      ledger: createMemoryLedger(),
      workspace,
      toolkits: enabledToolkits(settings.toolkits),
      toolkitServices: opened.services,
      locks: createLocks(),
      defaultModel: settings.model,
      contextLimit: settings.contextLimit,
      loadModel: createModelLoader(settings, { models, describeTools: describeToolsBy(prompts) }),
      models,
      agents: openAgents(workspace, logger),
      documents: [...opened.documents, rulesDocument(rules)],
      prompts,
    };
  }
  return own;
}
