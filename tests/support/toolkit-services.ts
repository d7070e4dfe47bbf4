import { loadConfig } from "@millrace/engine/config/config";
import { createLogger } from "@millrace/engine/logger";
import { createMemoryTasks } from "@millrace/engine/storage/memory";
import type { TaskStore } from "@millrace/engine/storage/task-store";
import { createBuiltInPrompts } from "../../src/prompts/prompts.ts";
import { promptParts } from "../../src/toolkits/composition.ts";
import { openToolkits } from "../../src/toolkits/open-toolkits.ts";
import type { RunServices } from "../../src/loop/services.ts";

/** What the toolkits of the default configuration bring to runs: their services and the built-in texts. */
export function toolkitParts(
  workspace: string,
  tasks: TaskStore = createMemoryTasks(),
): Pick<RunServices, "toolkitServices" | "prompts"> {
  const { services } = openToolkits({
    config: loadConfig({}),
    workspace,
    logger: createLogger("silent"),
    storage: { tasks },
  });
  return { toolkitServices: services, prompts: createBuiltInPrompts(promptParts()) };
}
