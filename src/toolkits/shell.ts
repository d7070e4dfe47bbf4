import { harmfulCommands } from "../guardrails/rules/harmful-commands.ts";
import { shellTools } from "../tools/index.ts";
import { defineToolkit } from "./toolkit.ts";

/**
 * Commands of the machine. An operator has to name it: on a machine without a sandbox a command, once approved, can do
 * what the server's user can.
 */
export const shell = defineToolkit({
  name: "shell",
  title: { en: "Commands", zh: "命令" },
  description: {
    en: "Runs commands in the workspace, in a sandbox where there is one, after a person's yes.",
    zh: "在工作区运行命令：有沙箱时在沙箱中运行，并需用户同意。",
  },
  tools: Object.values(shellTools),
  identity: { profile: "agentic" },
  guardrails: [harmfulCommands],
  enabled: "named",
});
