import { readdir, readFile } from "node:fs/promises";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";
import { prepareCall, runTool } from "../../../src/tools/runtime/run-tool.ts";
import type { Tool, ToolContext } from "../../../src/tools/runtime/tool.ts";
import { ToolkitServices } from "../../../src/tools/runtime/toolkit-services.ts";
import { aWorkspace, type Workspace } from "../../../tests/support/a-workspace.ts";
import { Shell, shellKey } from "../commands/shell.ts";
import { executeCommand } from "../tools/execute-command.ts";

/** The services of a session whose commands this shell runs. */
export const serving = (shell: Shell): ToolkitServices => new ToolkitServices().add(shellKey, shell);

/** A workspace, and the shell that runs commands in it. */
export interface CommandShell {
  workspace: Workspace;
  /** Without a sandbox; tests replace it by the one they need. */
  shell: Shell;
  /** Prepares and runs a call the way the loop does. */
  call(tool: Tool, input: object, more?: Partial<ToolContext>): Promise<ToolResult>;
  /** Runs a command with `execute_command`. */
  execute(command: string, more?: Partial<ToolContext>): Promise<ToolResult>;
  close(): Promise<void>;
}

/** Makes a workspace with a shell. */
export async function openCommandShell(): Promise<CommandShell> {
  const workspace = await aWorkspace();
  let calls = 0;
  const opened: CommandShell = {
    workspace,
    shell: new Shell({ sandbox: "off", hidden: [] }),
    async call(tool, input, more = {}) {
      const prepared = prepareCall(tool, input);
      if (prepared.kind === "invalid") return prepared.result;
      const toolkitServices = serving(opened.shell);
      const context = { ...workspace.context, toolkitServices, callId: `m/${++calls}`, ...more };
      return runTool(tool, prepared.input, context, { locks: createLocks() });
    },
    execute: (command, more = {}) => opened.call(executeCommand, { command, requires_approval: true }, more),
    async close() {
      await opened.shell.close();
      await workspace[Symbol.asyncDispose]();
    },
  };
  return opened;
}

/** Whether a process with these words runs on this machine. */
export async function runs(words: string): Promise<boolean> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/u.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")));
  return lines.some((line) => line.replaceAll("\0", " ").trim() === words);
}

/**
 * Waits until the condition holds. It asks again in each round of the event loop, so that no time is fixed.
 */
export async function until(isTrue: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setImmediate(resolve));
}
