import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { finishedCommands } from "./tools/background-commands.ts";
import { commandTools } from "./tools/index.ts";
import { openShell } from "./open.ts";
import { externalTools, externalToolsRead } from "./prompts/external-tools.ts";
import { externalToolRoutes } from "./routes/external-tools.ts";
import { harmfulCommands } from "./rules/harmful-commands.ts";

/**
 * Commands of the machine. Operators must enable it: without a sandbox, an approved command can do whatever the
 * server's user can. The user's own programs are described to models in any case.
 */
export const shell = defineToolkit({
  name: "shell",
  title: { en: "Commands", zh: "命令" },
  description: {
    en: "Runs commands in the workspace, in a sandbox where there is one, after a person's yes.",
    zh: "在工作区运行命令：有沙箱时在沙箱中运行，并需用户同意。",
  },
  enabled: "named",
  tools: Object.values(commandTools),
  templates: [externalTools, externalToolsRead],
  identity: { profile: "agentic" },
  guardrails: [harmfulCommands],
  open: openShell,
  finishedWork: finishedCommands,
  routes: [externalToolRoutes],
});
