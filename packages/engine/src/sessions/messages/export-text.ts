import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../message-kinds.ts";
import type { Language } from "../../language.ts";
import { type MessageRole, readExtras, roleOf, wordsOf } from "./message-fields.ts";
import { isHidden } from "./stored-message.ts";

/** What an export for readers may choose. Without `tools` the results of tools are left out. */
export interface ReadableOptions {
  language: Language;
  tools: boolean;
}

const words = {
  en: {
    roles: { user: "User", assistant: "Assistant", system: "System", tool: "Tool" },
    reasoning: "Reasoning",
    partial: "cut off",
    attachments: "Attachments",
    operations: "Done",
    sources: "Found on the web",
    calls: "Calls",
  },
  zh: {
    roles: { user: "用户", assistant: "助手", system: "系统", tool: "工具" },
    reasoning: "思考过程",
    partial: "已中断",
    attachments: "附件",
    operations: "操作",
    sources: "联网搜索结果",
    calls: "调用",
  },
} satisfies Record<string, { roles: Record<MessageRole, string> } & Record<string, unknown>>;

/** The messages a reader is shown: no system texts, nothing hidden, tools' results only when asked for. */
function shown(messages: readonly BaseMessage[], { tools }: ReadableOptions): BaseMessage[] {
  return messages.filter((message) => !isHidden(message) && (tools || roleOf(message) !== "tool"));
}

/** A conversation as plain text: `[role] time`, then what was said. */
export function toText(name: string, messages: readonly BaseMessage[], options: ReadableOptions): string {
  const parts = shown(messages, options).map((message) => {
    const { timestamp } = readExtras(message);
    const time = timestamp === null ? "" : ` ${timestamp}`;
    return [`[${roleOf(message)}]${time}`, wordsOf(message), ...notes(message, options)]
      .filter((line) => line !== "")
      .join("\n");
  });
  return `${[name, ...parts].join("\n\n")}\n`;
}

/** A conversation as Markdown. Reasoning can be folded; notes stand as a list below the words. */
export function toMarkdown(name: string, messages: readonly BaseMessage[], options: ReadableOptions): string {
  const { roles, reasoning } = words[options.language];
  const parts = shown(messages, options).map((message) => {
    const { timestamp, reasoning_content } = readExtras(message);
    const folded =
      reasoning_content === ""
        ? ""
        : `<details><summary>${reasoning}</summary>\n\n${escapeTags(reasoning_content)}\n\n</details>`;
    const list = notes(message, options).map((note) => `- ${note}`);
    const heading = `## ${roles[roleOf(message)]}${timestamp === null ? "" : ` · ${timestamp}`}`;
    return [heading, folded, wordsOf(message), list.join("\n")].filter((part) => part !== "").join("\n\n");
  });
  return `${[`# ${name}`, ...parts].join("\n\n")}\n`;
}

/** What is told of a message beside its words: that it was cut off, attachments, changes, calls, finds. */
function notes(message: BaseMessage, { language, tools }: ReadableOptions): string[] {
  const { partial, attachments, operations, sources, calls } = words[language];
  const extras = readExtras(message);
  const found = extras.web_search_results.flatMap(({ title, url }) =>
    [title ?? url].filter((one) => typeof one === "string"),
  );
  const made = tools && isAIMessage(message) ? (message.tool_calls ?? []) : [];
  return [
    ...(extras.is_partial ? [partialMark(partial, extras.stop_reason)] : []),
    ...listed(
      attachments,
      extras.attachments.map(({ name }) => name),
    ),
    ...listed(
      calls,
      made.map(({ name, args }) => `${name} ${JSON.stringify(args)}`),
    ),
    ...listed(operations, extras.operations),
    ...listed(sources, found),
  ];
}

function partialMark(word: string, reason: string): string {
  return reason === "" ? word : `${word} (${reason})`;
}

function listed(label: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : [`${label}: ${items.join("; ")}`];
}

/** A closing tag in the text would end the fold. */
function escapeTags(text: string): string {
  return text.replaceAll("<", "&lt;");
}
