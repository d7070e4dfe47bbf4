import { createHash } from "node:crypto";
import { z } from "zod";
import { expectedFailure, failure, success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool, type ToolContext } from "../../../src/tools/runtime/tool.ts";
import { replaceFile, writeNewFile } from "../../../src/tools/workspace/file-access.ts";
import { locate } from "../../../src/tools/workspace/workspace-path.ts";
import { analyzeCommand, operationOf } from "../commands/look-at-command.ts";
import { shellKey, type CommandResult } from "../commands/shell.ts";

/** Time limit of a command in seconds: a little less than the tool's, so that the result includes its output so far. */
const commandSeconds = 55;
/** The folder for outputs too long to show; git ignores it. */
const outputFolder = ".commands";

const CommandInput = z.object({
  command: z.string().trim().min(1).max(2000).describe("the command, run in the workspace folder"),
  requires_approval: z
    .boolean()
    .default(true)
    .describe(
      "true for whatever installs, deletes, overwrites, configures or uses the network; false for what only reads, builds or tests",
    ),
  background: z
    .boolean()
    .optional()
    .describe(
      "true: do not wait for its end, up to 30 minutes; background_commands tells of it. For servers and long builds",
    ),
});

/** Runs a command in the workspace, with approval unless it only reads. */
export const executeCommand = defineTool({
  name: "execute_command",
  description:
    "Runs a command in the workspace folder, without input, for at most 55 seconds, and gives its exit code and output (of a " +
    "long one the beginning and the end). The user is asked first unless it only reads. Plain words run without a shell; " +
    "signs such as | > && * make it run through sh. Harmful commands are refused. For files use the file tools.",
  schema: CommandInput,
  effect: "unsafe",
  resources: (input, { workspace }) => (input.background === true ? [] : [`write:${workspace}`]),
  kinds: ["Query", "HighRiskOperation"],
  checksCommand: true,
  operation: (input, context) => operationOf(input, context),
  run: (input, context) => execute(input, context),
  example: { title: "Run the tests", body: '{"command": "npm test", "requires_approval": false}' },
});

async function execute(input: z.infer<typeof CommandInput>, context: ToolContext): Promise<ToolResult> {
  const { toolkitServices, workspace, signal, sessionId } = context;
  const shell = toolkitServices.get(shellKey);
  const looked = analyzeCommand(input.command);
  // The rules have already refused it; checked again before execution.
  if (looked.kind === "refused") return failure("blocked", `Refused: ${looked.reason}.`, "Do without this command.");
  const request = { words: looked.words, workspace };
  if (input.background === true) {
    const task = await shell.begin(request, sessionId, input.command, signal);
    const content = `It runs in the background as ${task.id}. You are told when it has ended; background_commands with the action monitor shows its output.`;
    return success(`Started ${task.id}.`, { content, data: task, message_zh: `已在后台启动 ${task.id}。` });
  }
  const result = await shell.run(request, signal, commandSeconds * 1000);
  return await toResult(result, context);
}

async function toResult(result: CommandResult, context: ToolContext): Promise<ToolResult> {
  const { end, seconds, shown, isWhole, isSandboxed } = result;
  if (end?.kind === "not_started") {
    const result = failure("not_found", `It was not started: ${end.problem}.`, "Use a program that is there.");
    return { ...result, message_zh: "命令没有启动：找不到程序或无法运行。" };
  }
  const file = isWhole ? null : await keepOutput(result.whole(), context);
  const rest = file === null ? "" : `\n[the whole output is in ${file}; read_file and search_content take it]`;
  const output = shown.trim() === "" ? "(no output)" : shown.trimEnd();
  const code = end?.kind === "exited" ? end.code : null;
  const data = {
    exit_code: code,
    seconds: Number(seconds.toFixed(2)),
    output_file: file,
    is_sandboxed: isSandboxed,
  };
  if (end === null) {
    const message = `The command took longer than ${commandSeconds} seconds and was ended with all it had started.`;
    const advice = "Ask for less, or run it in the background.";
    return {
      ...failure("timeout", message, advice, data),
      content: `${message} ${advice}\n${output}${rest}`,
      message_zh: `命令运行超过 ${commandSeconds} 秒，已连同它启动的程序一起终止。`,
    };
  }
  const message =
    code === null ? `It was ended by ${end.kind === "signalled" ? end.signal : "a signal"}.` : `Exit code ${code}.`;
  const message_zh = code === null ? "命令被信号终止。" : `退出码 ${code}。`;
  const content = `${message}\n${output}${rest}`;
  return code === 0
    ? success(message, { content, data, message_zh })
    : { ...failure("execution_failed", message, undefined, data), content, message_zh };
}

/** Stores a long output as a file; `null` if that fails, which does not fail the command. */
async function keepOutput(bytes: Buffer, context: ToolContext): Promise<string | null> {
  const name = createHash("sha256").update(`${context.sessionId}/${context.callId}`).digest("hex").slice(0, 12);
  try {
    await put(`${outputFolder}/.gitignore`, Buffer.from("*\n"), context);
    return await put(`${outputFolder}/${name}.log`, bytes, context);
  } catch (error) {
    if (expectedFailure(error) === undefined) throw error;
    return null;
  }
}

async function put(path: string, bytes: Buffer, context: ToolContext): Promise<string> {
  const place = await locate(context.workspace, path, "keep");
  if (place.kind === "missing") await writeNewFile(context, place, bytes);
  else await replaceFile(context, place, bytes);
  return place.path;
}
