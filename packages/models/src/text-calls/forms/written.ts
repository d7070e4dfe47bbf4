import {
  AIMessage,
  HumanMessage,
  isAIMessage,
  isSystemMessage,
  isToolMessage,
  type BaseMessage,
  type ToolMessage,
} from "@langchain/core/messages";
import { brokenArguments } from "../../messages/broken-arguments.ts";
import { layerSeparator, systemMessage } from "../../messages/system-message.ts";
import type { CallGrammar } from "../../describe-tools.ts";
import { writtenValue } from "./value.ts";

/** A call in a message. */
interface Call {
  name: string;
  args: Readonly<Record<string, unknown>>;
}

const brokenNote = /^\[broken call: (.*)\]\n/;

/** Placeholder for a broken call's arguments: the problem and the original text. Not JSON. */
export function brokenText(message: string, written: string): string {
  return `[broken call: ${message.replaceAll("\n", " ")}]\n${written}`;
}

/** Writes a call in the model's format; parsing returns the same call. */
export function writtenCall({ name, args }: Call, grammar: CallGrammar): string {
  const broken = args[brokenArguments];
  if (typeof broken === "string") return broken.replace(brokenNote, "");
  const values = Object.entries(args).map(([key, value]) => [
    key,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  return grammar === "tags"
    ? [`<${name}>`, ...values.map(([key = "", value = ""]) => element(key, key, value)), `</${name}>`].join("\n")
    : [
        "<tool_use>",
        `<invoke name="${name}">`,
        ...values.map(([key = "", value = ""]) => element("parameter", `parameter name="${key}"`, value)),
        "</invoke>",
        "</tool_use>",
      ].join("\n");
}

function element(name: string, opening: string, value: string): string {
  return `<${opening}>${writtenValue(value, `</${name}>`)}</${name}>`;
}

/** A tool result as text for the model: success, message and content. */
function writtenResult(result: ToolMessage, call: Call | undefined): string {
  const succeeded = result.status !== "error";
  const broken = call?.args[brokenArguments];
  const problem = typeof broken === "string" ? brokenNote.exec(broken)?.[1] : undefined;
  const message = succeeded ? "The call succeeded." : "The call failed.";
  const content =
    problem === undefined
      ? [`<message>${message}</message>`, element("content", "content", result.text)]
      : [`<message>The call could not be read: ${problem} Write it again in the form that was told.</message>`];
  const name = result.name ?? call?.name ?? "tool";
  // A result must not be able to close its own tag and impersonate someone else.
  const lines = content.map((line) => line.replaceAll("</tool_result", "&lt;/tool_result"));
  return [`<tool_result name="${name}" success="${succeeded}">`, ...lines, "</tool_result>"].join("\n");
}

/**
 * Converts a conversation for a model without tool calls: calls become text, results become one user message, and
 * `tools` is appended to the system text.
 */
export function writtenMessages(messages: readonly BaseMessage[], tools: string, grammar: CallGrammar): BaseMessage[] {
  const written: BaseMessage[] = [];
  const calls = new Map<string, Call>();
  let results: string[] = [];
  const [first] = messages;
  const hasSystem = first !== undefined && isSystemMessage(first);
  if (tools !== "") written.push(systemMessage(hasSystem ? `${first.text}${layerSeparator}${tools}` : tools));
  else if (hasSystem) written.push(first);
  const close = (): void => {
    if (results.length > 0) written.push(new HumanMessage(results.join("\n\n")));
    results = [];
  };
  for (const message of hasSystem ? messages.slice(1) : messages) {
    if (isToolMessage(message)) {
      results.push(writtenResult(message, calls.get(message.tool_call_id)));
      continue;
    }
    close();
    if (!isAIMessage(message) || (message.tool_calls ?? []).length === 0) {
      written.push(message);
      continue;
    }
    const own = message.tool_calls ?? [];
    for (const call of own) calls.set(call.id ?? "", call);
    const words = message.text.trimEnd();
    const parts = [...(words === "" ? [] : [words]), ...own.map((call) => writtenCall(call, grammar))];
    written.push(new AIMessage({ content: parts.join("\n\n"), additional_kwargs: reasoningOf(message) }));
  }
  close();
  return written;
}

/** Of a message's extra fields, only the reasoning is sent back. */
function reasoningOf(message: AIMessage): Record<string, unknown> {
  const reasoning_content = message.additional_kwargs["reasoning_content"];
  return typeof reasoning_content === "string" ? { reasoning_content } : {};
}
