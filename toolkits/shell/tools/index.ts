import { backgroundCommands } from "./background-commands.ts";
import { executeCommand } from "./execute-command.ts";

/** The command tools by name. */
export const commandTools = { execute_command: executeCommand, background_commands: backgroundCommands };
