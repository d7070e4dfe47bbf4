import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import type { LoopRule } from "../../../src/guardrails/finding.ts";
import { success } from "../../../src/tools/runtime/result.ts";
import { tools as ownTools } from "../../../src/tools/index.ts";
import { defineTool, type Tool } from "../../../src/tools/runtime/tool.ts";

/** A call as it was recorded. Without an outcome it succeeded. */
export interface RecordedCall {
  tool: string;
  args: Record<string, unknown>;
  result: string;
  failed?: "execution_failed" | "not_found" | "network" | "invalid_parameter" | "denied" | "tool_not_found";
  metrics?: Record<string, number>;
}

/** A reply as it was recorded. */
export interface RecordedRound {
  text?: string;
  forced?: boolean;
  calls?: RecordedCall[];
}

/** What a recording contains: `opening` once, then `repeats` over and over while the model is let. */
export interface Recording {
  name: string;
  request: string;
  opening?: RecordedRound[];
  repeats?: RecordedRound[];
}

/** A recorded loop, the rule that has to stop it first, and how many calls (without calls: replies) it may have by then. */
export interface RecordedLoop extends Recording {
  rule: LoopRule;
  within: number;
}

/** One call of the tool. */
export function call(
  tool: string,
  args: Record<string, unknown>,
  result: string,
  more: Pick<RecordedCall, "failed" | "metrics"> = {},
): RecordedCall {
  return { tool, args, result, ...more };
}

/** One reply for each call, the most usual form of a recording. */
export function oneByOne(calls: RecordedCall[], text = ""): RecordedRound[] {
  return calls.map((single) => ({ text, calls: [single] }));
}

function madeUp(name: string, effect: Tool["effect"], polling: boolean): Tool {
  return defineTool({
    name,
    description: "A tool of a recording.",
    schema: z.looseObject({}),
    effect,
    timeoutSeconds: 1,
    resources: () => [],
    operation: async () => ({ type: "Query" }),
    run: async () => success(""),
    ...(polling ? { inTurn: { polling: true } } : {}),
  });
}

/** The tools of the recordings: the built-in ones, and some of other sources. */
export const recordedTools: Tool[] = [
  ...Object.values(ownTools),
  madeUp("create_task", "unsafe", false),
  madeUp("delete_task", "idempotent", false),
  madeUp("read_tasks", "pure", false),
  madeUp("web_search", "pure", false),
  madeUp("fetch_page", "pure", false),
  madeUp("list_rows", "pure", false),
  madeUp("run_command", "unsafe", false),
  madeUp("edit_file", "unsafe", false),
  madeUp("run_simulation", "pure", false),
  madeUp("set_switch", "idempotent", false),
  madeUp("process_batch", "unsafe", false),
  madeUp("sleep", "pure", false),
  madeUp("job_status", "pure", true),
];

/** The messages that the loop would hold for a reply, its results given. */
export function messagesOf(
  round: RecordedRound,
  index: number,
  results: { content: string; code: string; errorType?: string; metrics?: Record<string, number> }[],
): BaseMessage[] {
  const calls = round.calls ?? [];
  const reply = new AIMessage({
    content: round.text ?? "",
    tool_calls: calls.map(({ tool, args }, at) => ({ id: `call_${index}_${at}`, name: tool, args: { ...args } })),
    additional_kwargs: round.forced === true ? { forced_by: "folder_check" } : {},
  });
  const answers = results.map(
    ({ content, ...notes }, at) =>
      new ToolMessage({
        tool_call_id: `call_${index}_${at}`,
        name: calls[at]?.tool ?? "",
        status: notes.errorType === undefined ? "success" : "error",
        content,
        additional_kwargs: notes,
      }),
  );
  return [...(round.forced === true ? [new HumanMessage("Go on.")] : []), reply, ...answers];
}
