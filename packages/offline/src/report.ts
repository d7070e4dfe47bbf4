import type { Action } from "./actions.ts";
import type { Exchange } from "./conversation.ts";
import type { Outcome } from "./steps.ts";
import { summarizeText } from "./summary.ts";
import type { Language } from "@millrace/engine/language";
import { say } from "./text.ts";

/** Lines of a result that an answer repeats, alone and beside others. */
const [linesAlone, linesAmongOthers] = [200, 40];

/** The final answer: one paragraph per action, each as its result says. */
export function report(outcomes: Outcome[], left: string[], language: Language): string {
  const lines = outcomes.length === 1 ? linesAlone : linesAmongOthers;
  const paragraphs = outcomes.map((outcome) => sentence(outcome, lines, language));
  if (left.length > 0) {
    paragraphs.push(say(language, `Not done: ${left.join("; ")}.`, `尚未完成：${left.join("；")}。`));
  }
  return paragraphs.join(paragraphs.some((paragraph) => paragraph.includes("\n")) ? "\n\n" : " ");
}

function sentence(outcome: Outcome, lines: number, language: Language): string {
  const { action } = outcome;
  const what = goal(action, language);
  switch (outcome.kind) {
    case "no_tool":
      return say(
        language,
        `I could not ${what}: the tool ${outcome.tool} is not available to me here.`,
        `无法${what}：这里没有可用的工具 ${outcome.tool}。`,
      );
    case "incomplete":
      return say(
        language,
        `I did not ${what}: the file is too long for me to read whole, so the result would have been incomplete.`,
        `没有${what}：文件太长，无法完整读取，结果会不完整。`,
      );
    case "failed":
      return failed(outcome, what, language);
    case "done":
      return done(outcome, lines, language);
  }
}

function failed(outcome: Outcome, what: string, language: Language): string {
  const { exchange } = outcome;
  if (exchange === undefined) {
    return say(language, `I could not ${what}: there is no such task.`, `无法${what}：没有这个任务。`);
  }
  if (exchange.isDenied) {
    return say(language, `I did not ${what}: it was not approved.`, `没有${what}：操作未获批准。`);
  }
  return say(language, `I could not ${what}: ${problem(exchange)}`, `无法${what}：${problem(exchange)}`);
}

/** The words of a failed result, without the mark that the loop puts before them. */
function problem(exchange: Exchange): string {
  const text = exchange.text.replace(/^Error(?: \(\w+\))?:\s*/u, "").trim();
  return text === "" ? exchange.name : text.slice(0, 400);
}

function shown(text: string, lines: number, language: Language): string {
  const all = text.split("\n");
  if (all.length <= lines) return text;
  const more = all.length - lines;
  return `${all.slice(0, lines).join("\n")}\n${say(language, `… and ${more} more lines.`, `……还有 ${more} 行。`)}`;
}

function done(outcome: Outcome, lines: number, language: Language): string {
  const { action, exchange } = outcome;
  const text = shown(exchange?.text ?? "", lines, language);
  switch (action.kind) {
    case "list":
      return action.path === "."
        ? say(language, `The workspace contains:\n${text}`, `工作区包含：\n${text}`)
        : say(language, `${action.path} contains:\n${text}`, `${action.path} 包含：\n${text}`);
    case "read":
      return say(language, `${action.path} says:\n${text}`, `${action.path} 的内容：\n${text}`);
    case "summarize":
      return action.paths.map((path, index) => summarizeText(path, outcome.texts[index] ?? "", language)).join("\n\n");
    case "search_names":
    case "search_content":
      return say(language, `Search for “${action.query}”:\n${text}`, `搜索“${action.query}”的结果：\n${text}`);
    case "read_tasks":
      return say(language, `Tasks (${action.view}):\n${text}`, `任务（${action.view}）：\n${text}`);
    case "simulate":
      return say(language, `Simulation of ${action.path}:\n${text}`, `${action.path} 的仿真结果：\n${text}`);
    case "create":
      return outcome.wasThere === true
        ? say(language, `I updated ${action.path}, which already existed.`, `${action.path} 已存在，我已更新它。`)
        : say(language, `I created ${action.path}.`, `已创建 ${action.path}。`);
    case "update":
    case "append":
      return outcome.wasThere === true
        ? say(language, `I updated ${action.path}.`, `已更新 ${action.path}。`)
        : say(language, `${action.path} did not exist, so I created it.`, `${action.path} 原本不存在，我已创建它。`);
    case "derive":
      return derived(action, outcome, language);
    case "move":
      return say(
        language,
        `I moved ${action.source} to ${action.destination}.`,
        `已将 ${action.source} 移动到 ${action.destination}。`,
      );
    case "rename":
      return say(
        language,
        `I renamed ${action.path} to ${action.name}.`,
        `已将 ${action.path} 重命名为 ${action.name}。`,
      );
    case "delete":
      return say(language, `I deleted ${action.path}.`, `已删除 ${action.path}。`);
    default:
      return say(language, `Done: ${goal(action, language)}.`, `已完成：${goal(action, language)}。`);
  }
}

function derived(action: Extract<Action, { kind: "derive" }>, outcome: Outcome, language: Language): string {
  const sources = action.sources.join(say(language, " and ", "和"));
  if (action.how === "copy")
    return say(language, `I copied ${sources} to ${action.path}.`, `已将 ${sources} 复制到 ${action.path}。`);
  return outcome.wasThere === true
    ? say(
        language,
        `I read ${sources} and replaced the content of ${action.path} with a summary.`,
        `我读取了 ${sources}，并用摘要替换了 ${action.path} 的内容。`,
      )
    : say(
        language,
        `I read ${sources} and wrote a summary to ${action.path}.`,
        `我读取了 ${sources}，并把摘要写入了 ${action.path}。`,
      );
}

/** The words for each kind of action: English, Chinese. */
type Phrases = { [Kind in Action["kind"]]: (action: Extract<Action, { kind: Kind }>) => [string, string] };

const search = ({ query }: { query: string }): [string, string] => [`search for “${query}”`, `搜索“${query}”`];
const update = ({ path }: { path: string }): [string, string] => [`update ${path}`, `更新 ${path}`];

const phrases: Phrases = {
  list: ({ path }) => (path === "." ? ["list the files", "列出文件"] : [`list ${path}`, `列出 ${path}`]),
  read: ({ path }) => [`read ${path}`, `读取 ${path}`],
  summarize: ({ paths }) => [`summarize ${paths.join(", ")}`, `总结 ${paths.join("、")}`],
  search_names: search,
  search_content: search,
  create: ({ path }) => [`create ${path}`, `创建 ${path}`],
  update,
  append: update,
  derive: ({ how, sources, path }) =>
    how === "copy"
      ? [`copy ${sources.join(", ")} to ${path}`, `复制 ${sources.join("、")} 到 ${path}`]
      : [`write a summary of ${sources.join(", ")} to ${path}`, `把 ${sources.join("、")} 的摘要写入 ${path}`],
  move: ({ source, destination }) => [`move ${source} to ${destination}`, `移动 ${source} 到 ${destination}`],
  rename: ({ path, name }) => [`rename ${path} to ${name}`, `把 ${path} 重命名为 ${name}`],
  delete: ({ path }) => [`delete ${path}`, `删除 ${path}`],
  create_folder: ({ path }) => [`create the folder ${path}`, `创建文件夹 ${path}`],
  create_task: ({ title }) => [`create the task “${title}”`, `创建任务“${title}”`],
  read_tasks: () => ["list the tasks", "列出任务"],
  change_task: ({ task }) => [`update the task “${task}”`, `更新任务“${task}”`],
  schedule_task: ({ task, date }) => [`schedule the task “${task}” for ${date}`, `把任务“${task}”安排到 ${date}`],
  delete_task: ({ task }) => [`delete the task “${task}”`, `删除任务“${task}”`],
  simulate: ({ path }) => [`simulate ${path}`, `仿真 ${path}`],
};

/** What an action does, as it stands after "I could not". */
export function goal(action: Action, language: Language): string {
  // The compiler does not see that the entry and the action are of one kind; `Phrases` says so.
  const phrase = phrases[action.kind] as (action: Action) => [string, string];
  return say(language, ...phrase(action));
}
