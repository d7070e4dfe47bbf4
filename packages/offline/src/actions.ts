import type { Language } from "@millrace/engine/language";
import { say } from "./text.ts";

/** An action requested of the offline model. If one call performs it, the fields are that call's arguments. */
export type Action =
  | { kind: "list"; path: string }
  | { kind: "read"; path: string }
  | { kind: "search"; path: string; query: string }
  /** `into`: the summary's file; without it the summary is the answer. */
  | { kind: "summarize"; paths: string[]; into?: string }
  /** Never overwrites; `write` does. */
  | { kind: "create"; path: string; content: string }
  | { kind: "write"; path: string; content: string }
  | { kind: "move"; source: string; destination: string }
  | { kind: "delete"; path: string }
  | { kind: "create_folder"; path: string }
  | { kind: "create_task"; title: string; scheduled_date?: string }
  | { kind: "read_tasks"; view_context: string }
  | { kind: "complete_task"; task: string }
  | { kind: "schedule_task"; task: string; date: string }
  | { kind: "delete_task"; task: string }
  | { kind: "simulate"; circuit: string };

type Words = [english: string, chinese: string];

/** How one kind of action is performed and described. */
interface Wording<Kind extends Action["kind"]> {
  /** The tool that performs it. */
  tool: string;
  /** Completes "I could not …". */
  goal: (action: Extract<Action, { kind: Kind }>) => Words;
  /** The past-tense verb, or the heading above the tool's result. */
  done: string | ((action: Extract<Action, { kind: Kind }>) => Words);
}

const wordings: { [Kind in Action["kind"]]: Wording<Kind> } = {
  list: {
    tool: "list_files",
    goal: ({ path }) => (path === "." ? ["list the files", "列出文件"] : [`list ${path}`, `列出 ${path}`]),
    done: ({ path }) =>
      path === "." ? ["The workspace contains", "工作区包含"] : [`${path} contains`, `${path} 包含`],
  },
  read: {
    tool: "read_file",
    goal: ({ path }) => [`read ${path}`, `读取 ${path}`],
    done: ({ path }) => [`${path} says`, `${path} 的内容`],
  },
  search: {
    tool: "search_content",
    goal: ({ query }) => [`search for “${query}”`, `搜索“${query}”`],
    done: ({ query }) => [`Search for “${query}”`, `搜索“${query}”的结果`],
  },
  summarize: {
    tool: "read_file",
    goal: ({ paths, into }) =>
      into === undefined
        ? [`summarize ${paths.join(" and ")}`, `总结 ${paths.join("、")}`]
        : [`write a summary of ${paths.join(" and ")} to ${into}`, `把 ${paths.join("、")} 的摘要写入 ${into}`],
    done: "wrote",
  },
  create: { tool: "write_file", goal: ({ path }) => [`create ${path}`, `创建 ${path}`], done: "created" },
  write: { tool: "write_file", goal: ({ path }) => [`write ${path}`, `写入 ${path}`], done: "wrote" },
  move: {
    tool: "move_file",
    goal: ({ source, destination }) => [`move ${source} to ${destination}`, `把 ${source} 移动到 ${destination}`],
    done: "moved",
  },
  delete: { tool: "delete_file", goal: ({ path }) => [`delete ${path}`, `删除 ${path}`], done: "deleted" },
  create_folder: {
    tool: "create_folder",
    goal: ({ path }) => [`create the folder ${path}`, `创建文件夹 ${path}`],
    done: "created",
  },
  create_task: {
    tool: "create_task",
    goal: ({ title }) => [`create the task “${title}”`, `创建任务“${title}”`],
    done: "created",
  },
  read_tasks: {
    tool: "read_tasks",
    goal: () => ["list the tasks", "列出任务"],
    done: () => ["Tasks", "任务"],
  },
  complete_task: {
    tool: "update_task",
    goal: ({ task }) => [`mark the task “${task}” as done`, `把任务“${task}”标记为完成`],
    done: "marked",
  },
  schedule_task: {
    tool: "create_schedule",
    goal: ({ task, date }) => [`schedule the task “${task}” for ${date}`, `把任务“${task}”安排到 ${date}`],
    done: "scheduled",
  },
  delete_task: {
    tool: "delete_task",
    goal: ({ task }) => [`delete the task “${task}”`, `删除任务“${task}”`],
    done: "deleted",
  },
  simulate: {
    tool: "run_simulation",
    goal: ({ circuit }) => [`simulate ${circuit}`, `仿真 ${circuit}`],
    done: ({ circuit }) => [`Simulation of ${circuit}`, `${circuit} 的仿真结果`],
  },
};

function wordingOf(action: Action): Wording<Action["kind"]> {
  // The compiler does not see that entry and action have the same kind; the table's type ensures it.
  return wordings[action.kind] as Wording<Action["kind"]>;
}

/** The main tool of an action. */
export function mainTool(action: Action): string {
  return wordingOf(action).tool;
}

/** An action's goal, completing "I could not …". */
export function goal(action: Action, language: Language): string {
  return say(language, ...wordingOf(action).goal(action));
}

/** The report of a completed action; `text` is its tool's result. */
export function doneWords(action: Action, text: string, language: Language): string {
  if (action.kind === "list" && text === `${action.path === "." ? "The workspace" : action.path} is empty.`) {
    return say(language, text, action.path === "." ? "工作区是空的。" : `${action.path} 是空的。`);
  }
  const { done } = wordingOf(action);
  if (typeof done === "function") return `${say(language, ...done(action))}${say(language, ":", "：")}\n${text}`;
  return say(language, `I ${goal(action, "en").replace(/^\w+/u, done)}.`, `已${goal(action, "zh")}。`);
}
