import {
  AIMessage,
  HumanMessage,
  isAIMessage,
  isHumanMessage,
  isToolMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";

/** How to cut a message: characters of text, lines per code block, and whether to drop reasoning. */
export interface CutOptions {
  maxLength: number;
  codeLines?: number;
  dropsReasoning?: boolean;
}

/**
 * A shortened copy of a message for the view; the original is unchanged (law 5). Code blocks are cut first, then text
 * and call arguments keep their beginning and end. Returns the same message if there is nothing to cut.
 */
export function cutMessage(message: BaseMessage, options: CutOptions): BaseMessage {
  const { maxLength, codeLines, dropsReasoning = false } = options;
  const whole = wordsOf(message.content);
  const text = cutText(codeLines === undefined ? whole : cutCodeBlocks(whole, codeLines), maxLength);
  const hasReasoning = dropsReasoning && message.additional_kwargs["reasoning_content"] !== undefined;
  const calls = isAIMessage(message) ? cutCalls(message, maxLength) : undefined;
  const isCut = text !== whole || (maxLength !== Infinity && hasOtherParts(message.content));
  if (!isCut && !hasReasoning && calls === undefined) return message;
  const { reasoning_content: _, ...kwargs } = message.additional_kwargs;
  return copyWith(message, {
    content: isCut ? text : message.content,
    additional_kwargs: hasReasoning ? kwargs : message.additional_kwargs,
    tool_calls: calls,
  });
}

function copyWith(
  message: BaseMessage,
  changed: Pick<BaseMessage, "content" | "additional_kwargs"> & { tool_calls: AIMessage["tool_calls"] | undefined },
): BaseMessage {
  const { id, name } = message;
  const { tool_calls, ...given } = changed;
  const fields = { ...given, id, name };
  if (isToolMessage(message)) {
    const { tool_call_id, status } = message;
    return new ToolMessage({ ...fields, tool_call_id, status });
  }
  if (isAIMessage(message)) return new AIMessage({ ...fields, tool_calls: tool_calls ?? message.tool_calls ?? [] });
  return isHumanMessage(message) ? new HumanMessage(fields) : message;
}

/** The beginning and end of a text with a note on what was left out. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const half = Math.floor(maxLength / 2);
  // Some providers refuse lone surrogates.
  const begin = text.slice(0, half).replace(/\p{Cs}$/u, "");
  const end = half === 0 ? "" : text.slice(-half).replace(/^\p{Cs}/u, "");
  return `${begin}\n[… ${text.length - begin.length - end.length} characters left out …]\n${end}`;
}

/** Cuts code blocks to `maxLines` lines, with a note. */
export function cutCodeBlocks(text: string, maxLines: number): string {
  if (!text.includes("```")) return text;
  const lines: string[] = [];
  let inside = 0;
  let left = 0;
  for (const line of text.split("\n")) {
    const isFence = line.trimStart().startsWith("```");
    if (isFence && inside > 0 && left > 0) lines.push(`[… ${left} lines left out …]`);
    if (isFence) {
      inside = inside > 0 ? 0 : 1;
      left = 0;
      lines.push(line);
    } else if (inside === 0) {
      lines.push(line);
    } else if (inside > maxLines) {
      left += 1;
    } else {
      inside += 1;
      lines.push(line);
    }
  }
  if (left > 0) lines.push(`[… ${left} lines left out …]`);
  return lines.join("\n");
}

/** A message's text; images and other parts are only named. */
function wordsOf(content: BaseMessage["content"]): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? textOf([part]) : `[${part.type} left out]`)).join("\n");
}

function hasOtherParts(content: BaseMessage["content"]): boolean {
  return typeof content !== "string" && content.some((part) => part.type !== "text");
}

/** Calls with shortened text arguments; `undefined` if none is too long. */
function cutCalls(message: AIMessage, maxLength: number): AIMessage["tool_calls"] | undefined {
  const calls = message.tool_calls ?? [];
  const isLong = calls.some((call) => JSON.stringify(call.args).length > maxLength);
  if (!isLong) return undefined;
  return calls.map((call) => ({ ...call, args: cutArguments(call.args, maxLength) }));
}

function cutArguments(args: Record<string, unknown>, maxLength: number): Record<string, unknown> {
  if (JSON.stringify(args).length <= maxLength) return args;
  const cut = Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, typeof value === "string" ? cutText(value, maxLength) : value]),
  );
  // Too many or too deep arguments: strict providers still require an object.
  return JSON.stringify(cut).length <= 4 * maxLength + 200
    ? cut
    : { left_out: cutText(JSON.stringify(args), maxLength) };
}
