import { join } from "node:path";
import { loadConfig } from "@millrace/engine/config/config";
import { createLogger } from "@millrace/engine/logger";
import { createMemoryTasks } from "@millrace/engine/storage/memory";
import type { TaskStore } from "@millrace/engine/storage/record-stores";
import { createBuiltInPrompts } from "../../src/prompts/prompts.ts";
import { createRuleFolders } from "../../src/user-rules/rule-folders.ts";
import type { DocumentSource } from "../../src/context/documentation/documentation.ts";
import { rulesDocument } from "../../src/context/documentation/rules-document.ts";
import { enabledToolkits } from "../../src/toolkits/enabled-toolkits.ts";
import { promptParts } from "../../src/toolkits/composition.ts";
import { openToolkits } from "../../src/toolkits/open-toolkits.ts";
import type { RunServices } from "../../src/loop/services.ts";

/** What the toolkits of the default configuration bring to runs: their services and the built-in texts. */
export function toolkitParts(
  workspace: string,
  tasks: TaskStore = createMemoryTasks(),
): Pick<RunServices, "toolkits" | "toolkitServices" | "prompts"> {
  const { services } = openToolkits({
    config: loadConfig({}),
    workspace,
    logger: createLogger("silent"),
    storage: { tasks },
  });
  return { toolkits: enabledToolkits(), toolkitServices: services, prompts: createBuiltInPrompts(promptParts()) };
}

/** What models read before a conversation: the documents of all toolkits, then the rules. Nothing of the user's own home counts. */
export function documentsOf(workspace: string): readonly DocumentSource[] {
  const logger = createLogger("silent");
  const config = loadConfig({ MILLRACE_DATA_DIR: `${workspace}-data` });
  const home = join(workspace, "no-home");
  const storage = { tasks: createMemoryTasks() };
  const { documents } = openToolkits({ config, workspace, home, logger, storage });
  return [...documents, rulesDocument(createRuleFolders({ workspace, home, logger }))];
}
