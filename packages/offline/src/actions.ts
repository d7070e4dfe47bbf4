import type { Language } from "@millrace/engine/language";
import { say } from "./text.ts";

/** Something the offline model was asked to do. `overwrite`: the user's words allow to replace what is there. */
export type Action =
  | { kind: "list"; path: string }
  | { kind: "read"; path: string; start?: number; end?: number }
  | { kind: "summarize"; paths: string[] }
  | { kind: "search_names"; query: string }
  | { kind: "search_content"; path: string; query: string }
  | { kind: "create"; path: string; content: string; overwrite: boolean }
  | { kind: "update"; path: string; content: string }
  | { kind: "append"; path: string; content: string }
  | { kind: "derive"; how: "copy" | "summary"; sources: string[]; path: string }
  | { kind: "move"; source: string; destination: string }
  | { kind: "rename"; path: string; name: string }
  | { kind: "delete"; path: string }
  | { kind: "create_folder"; path: string }
  | { kind: "create_task"; title: string; date?: string; area?: string }
  | { kind: "read_tasks"; view: string }
  | { kind: "change_task"; task: string; title?: string; completed?: boolean }
  | { kind: "schedule_task"; task: string; date: string }
  | { kind: "delete_task"; task: string }
  | { kind: "simulate"; path: string; analysis?: string };

/** The tool that an action is mainly about. */
export function mainTool(action: Action): string {
  switch (action.kind) {
    case "list":
      return "list_files";
    case "read":
    case "summarize":
      return "read_file";
    case "search_names":
      return "search_files";
    case "search_content":
      return "search_content";
    case "create":
    case "derive":
      return "create_file";
    case "update":
    case "append":
      return "update_file";
    case "move":
      return "move_file";
    case "rename":
      return "rename_file";
    case "delete":
      return "delete_file";
    case "create_folder":
      return "create_folder";
    case "create_task":
      return "create_task";
    case "read_tasks":
      return "read_tasks";
    case "change_task":
      return "update_task";
    case "schedule_task":
      return "create_schedule";
    case "delete_task":
      return "delete_task";
    case "simulate":
      return "run_simulation";
  }
}

/** Whether an action only looks. */
export function isPure(action: Action): boolean {
  return ["list", "read", "summarize", "search_names", "search_content", "read_tasks"].includes(action.kind);
}

/** Every path an action touches. */
export function pathsOf(action: Action): string[] {
  switch (action.kind) {
    case "summarize":
      return action.paths;
    case "derive":
      return [...action.sources, action.path];
    case "move":
      return [action.source, action.destination];
    default:
      return "path" in action ? [action.path] : [];
  }
}

/** Whether two actions may run at the same time: both look, or both make or remove different things. */
export function areIndependent(left: Action, right: Action): boolean {
  if (isPure(left) && isPure(right)) return true;
  const together = ["create", "create_folder", "delete"];
  if (left.kind !== right.kind || !together.includes(left.kind)) return false;
  return pathsOf(left).every((a) =>
    pathsOf(right).every((b) => !`${a}/`.startsWith(`${b}/`) && !`${b}/`.startsWith(`${a}/`)),
  );
}

/** `text` in quotes that it does not hold, so that the offline model reads it back as it was; in the first where it holds all. */
function quote(text: string): string {
  const pairs = [
    ["「", "」"],
    ["『", "』"],
    ["“", "”"],
  ] as const;
  const pair = pairs.find(([open, close]) => !text.includes(open) && !text.includes(close)) ?? pairs[0];
  return pair[0] + text + pair[1];
}

type Phrases = { [Kind in Action["kind"]]: (action: Extract<Action, { kind: Kind }>) => [string, string] };

const phrases: Phrases = {
  list: ({ path }) =>
    path === "."
      ? ["list the files", "列出文件"]
      : [`list the files in folder ${quote(path)}`, `列出文件夹 ${quote(path)} 里的文件`],
  read: ({ path, start, end }) =>
    start === undefined
      ? [`read ${quote(path)}`, `读取 ${quote(path)}`]
      : [`read ${quote(path)} lines ${start}-${end ?? start}`, `读取 ${quote(path)} 第${start}到${end ?? start}行`],
  summarize: ({ paths }) => [`summarize ${paths.map(quote).join(", ")}`, `总结 ${paths.map(quote).join("、")}`],
  search_names: ({ query }) => [`find files named ${quote(query)}`, `查找名为 ${quote(query)} 的文件`],
  search_content: ({ query, path }) =>
    path === "."
      ? [`search for the text ${quote(query)}`, `搜索内容 ${quote(query)}`]
      : [
          `search for the text ${quote(query)} in folder ${quote(path)}`,
          `搜索内容 ${quote(query)}，在文件夹 ${quote(path)}`,
        ],
  create: ({ path, content, overwrite }) =>
    overwrite
      ? [`write ${quote(content)} to ${quote(path)}`, `把 ${quote(content)} 写入 ${quote(path)}`]
      : [`create ${quote(path)} with ${quote(content)}`, `创建 ${quote(path)}，内容为 ${quote(content)}`],
  update: ({ path, content }) => [
    `replace the content of ${quote(path)} with ${quote(content)}`,
    `更新 ${quote(path)}，内容为 ${quote(content)}`,
  ],
  append: ({ path, content }) => [
    `append ${quote(content)} to ${quote(path)}`,
    `把 ${quote(content)} 追加到 ${quote(path)}`,
  ],
  derive: ({ how, sources, path }) => {
    const [english, chinese] = [sources.map(quote).join(", "), sources.map(quote).join("、")];
    return how === "copy"
      ? [`copy ${english} to ${quote(path)}`, `复制 ${chinese} 到 ${quote(path)}`]
      : [`summarize ${english} to ${quote(path)}`, `总结 ${chinese} 写入 ${quote(path)}`];
  },
  move: ({ source, destination }) => [
    `move ${quote(source)} to ${quote(destination)}`,
    `移动 ${quote(source)} 到 ${quote(destination)}`,
  ],
  rename: ({ path, name }) => [`rename ${quote(path)} to ${quote(name)}`, `重命名 ${quote(path)} 为 ${quote(name)}`],
  delete: ({ path }) => [`delete ${quote(path)}`, `删除 ${quote(path)}`],
  create_folder: ({ path }) => [`create folder ${quote(path)}`, `创建文件夹 ${quote(path)}`],
  create_task: ({ title, date, area }) => {
    const more = (date === undefined ? "" : ` ${date}`) + (area === undefined ? "" : ` area::${area}`);
    return [`create task ${quote(title)}${more}`, `创建任务 ${quote(title)}${more}`];
  },
  read_tasks: ({ view }) => [`list the tasks of ${view}`, `列出任务 ${view}`],
  change_task: ({ task, title, completed }) => {
    if (title !== undefined)
      return [`rename task ${quote(task)} to ${quote(title)}`, `重命名任务 ${quote(task)} 为 ${quote(title)}`];
    return completed === false
      ? [`reopen task ${quote(task)}`, `重新打开任务 ${quote(task)}`]
      : [`complete task ${quote(task)}`, `完成任务 ${quote(task)}`];
  },
  schedule_task: ({ task, date }) => [`schedule task ${quote(task)} for ${date}`, `安排任务 ${quote(task)} 到 ${date}`],
  delete_task: ({ task }) => [`delete task ${quote(task)}`, `删除任务 ${quote(task)}`],
  simulate: ({ path, analysis }) => {
    const kind = analysis === undefined ? "" : ` ${analysis}`;
    return [`simulate ${quote(path)}${kind}`, `仿真 ${quote(path)}${kind}`];
  },
};

/** An action in words that stand alone: the offline model understands them again as the same action. */
export function describe(action: Action, language: Language): string {
  // The compiler does not see that the entry and the action are of one kind; `Phrases` says so.
  const phrase = phrases[action.kind] as (action: Action) => [string, string];
  return say(language, ...phrase(action));
}
