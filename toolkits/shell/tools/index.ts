import { backgroundCommands } from "./background-commands.ts";
import { executeCommand } from "./execute-command.ts";

/** The tools of this work. */
export const commandTools = { execute_command: executeCommand, background_commands: backgroundCommands };
