import { isAIMessage, isHumanMessage } from "@langchain/core/messages";
import { isNote, type Conversation, type Exchange } from "./conversation.ts";
import type { Language } from "@millrace/engine/language";
import { say } from "./text.ts";

/** Characters a summary of the conversation may have. */
const summaryLength = 1000;

/** The answer to the prompt of `compress`, as JSON; else a closing text. */
export function answerTask(conversation: Conversation): string {
  return conversation.purpose === "compress" ? JSON.stringify(compress(conversation)) : closing(conversation);
}

interface Summary {
  goal: string;
  completed: string[];
  todo: string[];
  attempted_solutions: string[];
  current_problem: string;
  key_decisions: string[];
}

/** The structured summary: requests, the calls that succeeded and failed, and the last words; oldest go first. */
function compress(conversation: Conversation): Summary {
  const { messages } = conversation;
  const said = messages.filter((message) => isHumanMessage(message) && !isNote(message.text));
  const requests = said.map((message) => firstLine(message.text));
  const statuses = new Map(
    messages.flatMap((message) => ("tool_call_id" in message ? [[message.tool_call_id, message] as const] : [])),
  );
  const calls = messages.filter(isAIMessage).flatMap((message) => message.tool_calls ?? []);
  const isFailed = (id: string | undefined): boolean => {
    const result = statuses.get(id);
    return result === undefined || ("status" in result && result.status === "error");
  };
  const words = (call: (typeof calls)[number]): string =>
    firstLine(`${call.name} ${Object.values(call.args).join(" ")}`, 80);
  const summary: Summary = {
    goal: requests[0] ?? "",
    completed: calls.filter((call) => !isFailed(call.id)).map(words),
    todo: [],
    attempted_solutions: calls.filter((call) => isFailed(call.id)).map(words),
    current_problem: requests.length > 1 ? (requests.at(-1) ?? "") : "",
    key_decisions: requests.slice(1, -1),
  };
  const lists = [summary.key_decisions, summary.attempted_solutions, summary.completed];
  while (JSON.stringify(summary).length > summaryLength) {
    const longest = lists.reduce((left, right) => (right.length > left.length ? right : left));
    if (longest.length === 0) break;
    longest.shift();
  }
  return summary;
}

/** Plain sentences about the results since the request, for a reply that can call nothing any more. */
function closing(conversation: Conversation): string {
  const { exchanges, language } = conversation;
  if (exchanges.length === 0) return say(language, "Nothing was done with tools.", "没有使用工具执行任何操作。");
  const good = exchanges.filter((exchange) => exchange.success);
  const bad = exchanges.filter((exchange) => !exchange.success);
  const parts = [
    ...(good.length === 0
      ? []
      : [say(language, `Done: ${joined(good, language)}.`, `已完成：${joined(good, language)}。`)]),
    ...bad.map((exchange) => problem(exchange, language)),
  ];
  return parts.join(say(language, " ", ""));
}

function joined(exchanges: Exchange[], language: Language): string {
  const names = exchanges.map((exchange) => named(exchange, language));
  return [...new Set(names)].join(say(language, ", ", "、"));
}

/** The past of a tool's name; tools that are not here are named as they are. */
const past: Readonly<Record<string, [string, string]>> = {
  read_file: ["read", "读取"],
  create_file: ["created", "创建"],
  update_file: ["updated", "更新"],
  delete_file: ["deleted", "删除"],
  list_files: ["listed the files", "列出文件"],
  search_files: ["searched the names for", "按名称搜索"],
  search_content: ["searched the files for", "搜索内容"],
  move_file: ["moved", "移动"],
  rename_file: ["renamed", "重命名"],
  create_folder: ["created the folder", "创建文件夹"],
  create_task: ["created the task", "创建任务"],
  read_tasks: ["read the tasks of", "读取任务"],
  update_task: ["updated the task", "更新任务"],
  create_schedule: ["scheduled the task", "安排任务"],
  delete_task: ["deleted the task", "删除任务"],
};

function named(exchange: Exchange, language: Language): string {
  const verb = past[exchange.name];
  return (verb === undefined ? exchange.name : say(language, ...verb)) + subject(exchange);
}

/** What a call was about: its main argument, and where it went. */
function subject(exchange: Exchange): string {
  const keys =
    exchange.name === "search_content" ? ["regex"] : ["path", "source", "title", "query", "view_context", "task_id"];
  const main = keys.map((key) => exchange.args[key]).find((value) => typeof value === "string");
  const target = exchange.args["destination"] ?? exchange.args["new_name"];
  const arrow = typeof target === "string" ? ` → ${target}` : "";
  return (typeof main === "string" ? ` ${main}` : "") + arrow;
}

function problem(exchange: Exchange, language: Language): string {
  const call = exchange.name + subject(exchange);
  if (exchange.isDenied) return say(language, `Not approved: ${call}.`, `未获批准：${call}。`);
  const reason = firstLine(exchange.text.replace(/^Error(?: \(\w+\))?:\s*/u, ""), 200);
  return say(language, `Failed: ${call} (${reason}).`, `失败：${call}（${reason}）。`);
}

function firstLine(text: string, length = 120): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}
