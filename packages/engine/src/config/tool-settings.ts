import { isAbsolute } from "node:path";
import { AppError } from "../errors/errors.ts";
import type { OwnerTools } from "./owner-tools.ts";
import { plannerSettings, type PlannerSettings } from "./planner-settings.ts";

/** What tools may do, and what is asked and told about it. */
export interface ToolSettings {
  /** Whether anything watches tool calls. */
  toolHooks: boolean;
  /** How the help of the user's own programs is found: read from their comments, or asked of them by running them. */
  toolHelp: "comments" | "run";
  /** Names of the toolkits that runs may use; none: the default ones. */
  toolkits: string[];
  ownerTools: OwnerTools;
  /** Whether commands run in a sandbox where the machine has one. */
  sandbox: "auto" | "off";
  /** Whether the files of the workspace are watched; `auto`: where the toolkit of circuits is there. */
  watchFiles: "auto" | "on" | "off";
  /** The program of ngspice that simulates, in a sandbox; `undefined`: the simulator that comes along does. */
  ngspice: string | undefined;
  /** Patterns of files whose change has to be confirmed, besides those that always have. */
  criticalFiles: string[];
  /** Where the planner's tools find the tasks; `undefined`: in the server's own. */
  planner: PlannerSettings | undefined;
  /** Whether the deletion of a task has to be confirmed. */
  confirmTasks: boolean;
}

/** What the environment says of tools. */
export interface ToolEnvironment {
  MILLRACE_TOOL_HOOKS: "on" | "off";
  MILLRACE_TOOL_HELP: "comments" | "run";
  MILLRACE_TOOLKITS: string[];
  MILLRACE_OWNER_TOOLS: OwnerTools;
  MILLRACE_SANDBOX: "auto" | "off";
  MILLRACE_WATCH_FILES: "auto" | "on" | "off";
  MILLRACE_NGSPICE?: string | undefined;
  MILLRACE_CRITICAL_FILES: string[];
  MILLRACE_PLANNER_URL?: string | undefined;
  MILLRACE_PLANNER_KEY: string | undefined;
  MILLRACE_CONFIRM_TASKS: "on" | "off";
}

/** The tools as the environment has them. Throws `config` where that cannot be said. */
export function toolSettings(values: ToolEnvironment): ToolSettings {
  return {
    toolHooks: values.MILLRACE_TOOL_HOOKS === "on",
    toolHelp: values.MILLRACE_TOOL_HELP,
    toolkits: values.MILLRACE_TOOLKITS,
    ownerTools: values.MILLRACE_OWNER_TOOLS,
    sandbox: values.MILLRACE_SANDBOX,
    watchFiles: values.MILLRACE_WATCH_FILES,
    ngspice: ngspiceOf(values.MILLRACE_NGSPICE),
    criticalFiles: values.MILLRACE_CRITICAL_FILES,
    planner: plannerSettings(values),
    confirmTasks: values.MILLRACE_CONFIRM_TASKS === "on",
  };
}

/** Where a system's own package puts it. */
const usualNgspice = "/usr/bin/ngspice";

function ngspiceOf(value: string | undefined): string | undefined {
  if (value === undefined || value === "off") return undefined;
  if (value === "on") return usualNgspice;
  if (isAbsolute(value)) return value;
  throw new AppError("config", `MILLRACE_NGSPICE is "${value}", which is no absolute path.`, {
    suggestion: `Write on (${usualNgspice}), off, or the whole path of the program.`,
  });
}
