import { z } from "zod";
import type { Language } from "@millrace/engine/language";
import { failure, success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool, type ToolContext } from "../../../src/tools/runtime/tool.ts";
import type { FinishedWork } from "../../../src/toolkits/toolkit.ts";
import type { ToolkitServices } from "../../../src/tools/runtime/toolkit-services.ts";
import { shellKey, type BackgroundCommand, type Shell } from "../commands/shell.ts";

/** Characters of a command in a list. */
const shownCommand = 120;

const CommandsInput = z.object({
  action: z
    .enum(["list", "monitor", "cleanup", "kill"])
    .describe(
      "list: all of this conversation; monitor: the output of one; cleanup: forget those that have ended; kill: end one",
    ),
  command_id: z.string().min(1).max(100).optional().describe("which one, for monitor and kill"),
});

/** Manages the session's background commands. */
export const backgroundCommands = defineTool({
  name: "background_commands",
  description:
    "Lists, watches, ends and clears away the commands that execute_command has started in the background of this conversation. " +
    "It does not wait: go on with other work, and look again later. The end of a command is told to you by itself.",
  schema: CommandsInput,
  effect: "idempotent",
  inTurn: { polling: true },
  run: (input, context) => attend(input, context),
  example: { title: "How far is it", body: '{"action": "monitor", "command_id": "command-3f9a1c2e"}' },
});

async function attend(
  { action, command_id: id }: z.infer<typeof CommandsInput>,
  context: ToolContext,
): Promise<ToolResult> {
  const { toolkitServices, sessionId } = context;
  const shell = toolkitServices.get(shellKey);
  switch (action) {
    case "list":
      return listed(shell.list(sessionId), shell);
    case "cleanup": {
      const gone = shell.cleanUp(sessionId);
      return success(gone.length === 0 ? "None of them has ended." : `Forgotten: ${gone.join(", ")}.`, {
        data: gone,
        message_zh: gone.length === 0 ? "没有已结束的后台命令。" : `已移除 ${gone.join("、")}。`,
      });
    }
    default:
      return await one(action, id, shell, sessionId);
  }
}

async function one(
  action: "monitor" | "kill",
  id: string | undefined,
  shell: Shell,
  sessionId: string,
): Promise<ToolResult> {
  if (id === undefined) return failure("missing_parameter", `${action} needs a command_id.`, "list shows them.");
  const task =
    action === "kill" ? await shell.kill(sessionId, id) : shell.list(sessionId).find((known) => known.id === id);
  if (task === undefined) {
    const message = `There is no ${id} in the background of this conversation${shell.hasOtherServers ? here : ""}.`;
    return failure("not_found", message, shell.hasOtherServers ? elsewhere : "list shows them.");
  }
  const message = line(task);
  return success(message, {
    content: `${message}\n${task.output.trim() === "" ? "(no output)" : task.output.trimEnd()}`,
    data: task,
    message_zh: line(task, "zh"),
  });
}

/** What a server that is one of several adds: where it has looked, and what that means. */
const [here, elsewhere] = [" at this server", "A command that another server has started may still run there."];

function listed(tasks: readonly BackgroundCommand[], { hasOtherServers }: Shell): ToolResult {
  const data = tasks.map(({ id, command, status, begun_at, ended_at, exit_code }) => {
    return { id, command, status, begun_at, ended_at, exit_code };
  });
  if (tasks.length === 0) {
    return hasOtherServers
      ? success(`Nothing runs in the background of this conversation${here}. ${elsewhere}`, {
          data,
          message_zh: "此对话在本服务器上没有后台命令；其他服务器启动的命令可能仍在那里运行。",
        })
      : success("Nothing runs in the background of this conversation.", { data, message_zh: "此对话没有后台命令。" });
  }
  const running = tasks.filter(({ status }) => status === "running").length;
  const message = `${running} of ${tasks.length} run.`;
  const content = [message, ...tasks.map((task) => line(task))].join("\n");
  return success(message, { content, data, message_zh: `共 ${tasks.length} 个后台命令，${running} 个正在运行。` });
}

/** A session's finished background commands. */
export function finishedCommands(sessionId: string, services: ToolkitServices): FinishedWork[] {
  const ended =
    services
      .find(shellKey)
      ?.list(sessionId)
      .filter(({ status }) => status !== "running") ?? [];
  return ended.map((command) => ({ id: command.id, text: (maxLength) => commandText(command, maxLength) }));
}

/** A background command with the end of its output for the model, at most `maxLength` characters. */
function commandText(command: BackgroundCommand, maxLength: number): string {
  const output = command.output.trim().slice(-maxLength).toWellFormed();
  return `Background command ${line(command)}${output === "" ? "." : `, and wrote at the end:\n${output}`}`;
}

/** A background command in one line. */
function line({ id, command, status, exit_code: code }: BackgroundCommand, language: Language = "en"): string {
  const short = command.length > shownCommand ? `${command.slice(0, shownCommand)}…` : command;
  if (language === "zh") {
    const how = {
      running: "正在运行",
      stopped: "已被终止",
      timed_out: "运行 30 分钟后被终止",
      finished: code === null ? "被信号终止" : `已结束，退出码 ${code}`,
    };
    return `${id}（${short}）${how[status]}。`;
  }
  const how = {
    running: "runs",
    stopped: "was ended",
    timed_out: "was ended after 30 minutes",
    finished: code === null ? "was ended by a signal" : `has ended with exit code ${code}`,
  };
  return `${id} (${short}) ${how[status]}`;
}
