import type { Action } from "./actions.ts";
import { findPaths, restore, type Clause } from "./text.ts";

const taskWord = /\b(?:tasks?|to-?dos?|reminders?)\b|\bremind me\b|任务|待办|提醒我/iu;
const simulationWord = /\bsimulat(?:e|ion|ing)\b|仿真|运行模拟/iu;

/** The planner's and the simulator's requests in a clause; empty when it speaks of neither. */
export function parseTaskClause(clause: Clause): Action[] {
  const words = withoutPaths(clause);
  if (simulationWord.test(words)) return parseSimulation(clause);
  if (!taskWord.test(words)) return [];
  const { text } = clause;
  if (/\b(?:list|show|read|what|which|any|see)\b|列出|查看|显示|有哪些|看看|有什么/iu.test(words)) {
    return [{ kind: "read_tasks", view: viewOf(clause) }];
  }
  const name = nameOf(clause);
  if (name === "") return [];
  if (/\b(?:delete|remove|cancel)\b|删除|删掉|取消/iu.test(words)) return [{ kind: "delete_task", task: name }];
  const renamed = /\b(?:rename|retitle)\b|重命名|改名/iu.test(words) ? splitRename(clause) : undefined;
  if (renamed !== undefined) return [{ kind: "change_task", ...renamed }];
  if (/\breopen\b|\bnot done\b|重新打开|未完成/iu.test(words))
    return [{ kind: "change_task", task: name, completed: false }];
  if (/\b(?:complete|finish|tick|check off|mark)\b|\bdone\b|完成|标记/iu.test(words)) {
    return [{ kind: "change_task", task: name, completed: true }];
  }
  const date = dateOf(clause);
  const isNew = /\b(?:create|add|new|make|set up|remind me)\b|创建|新建|添加|新增|提醒我/iu.test(words);
  if (/\bschedule\b|安排/iu.test(words) && date !== undefined && !isNew)
    return [{ kind: "schedule_task", task: name, date }];
  if (!isNew) return [];
  const area = /\barea::([\w-]+)/u.exec(text)?.[1];
  return [
    {
      kind: "create_task",
      title: name,
      ...(date === undefined ? {} : { date }),
      ...(area === undefined ? {} : { area }),
    },
  ];
}

function parseSimulation(clause: Clause): Action[] {
  const path = findPaths(clause.text, clause.quoted)[0]?.path ?? clause.earlier[0];
  if (path === undefined) return [];
  const analysis = /\b(tran(?:sient)?|ac|dc|op|noise)\b|(瞬态|交流|直流|工作点)/iu.exec(clause.text)?.[0].toLowerCase();
  const names: Record<string, string> = { transient: "tran", 瞬态: "tran", 交流: "ac", 直流: "dc", 工作点: "op" };
  return [{ kind: "simulate", path, ...(analysis === undefined ? {} : { analysis: names[analysis] ?? analysis }) }];
}

/** The clause with its paths blanked, so that "todo.md" is a file and not a task. */
function withoutPaths(clause: Clause): string {
  let words = clause.text;
  for (const found of findPaths(clause.text, clause.quoted).toReversed()) {
    words = `${words.slice(0, found.start)} ${words.slice(found.end)}`;
  }
  return words.replace(/\uE000\d+\uE001/gu, " ");
}

const dateWords = /\b(?:(?:for|on|by|due)\s+)?(?:today|tomorrow|\d{4}-\d{2}-\d{2})\b|(?:今天|明天)|\barea::[\w-]+/giu;

/** The task's title or id: the quotation, else the words that are left beside verb, noun and date. */
function nameOf(clause: Clause): string {
  const mark = /\uE000\d+\uE001/u.exec(clause.text)?.[0];
  if (mark !== undefined) return restore(mark, clause.quoted);
  const id = /\b[0-9a-f]{8}-[0-9a-f-]{27}\b/iu.exec(clause.text)?.[0];
  if (id !== undefined) return id;
  const rest = clause.text
    .replace(dateWords, " ")
    .replace(/\b(?:as|is) (?:done|finished|completed?|not done)\b/giu, " ")
    .replace(
      /^.*?(?:\b(?:tasks?|to-?dos?|reminders?)\b|\bremind me\b|任务|待办(?:事项)?|提醒我)\s*(?:called|named|titled|to|about|list|:|：|叫做?|名为|为)?\s*/iu,
      "",
    );
  return rest
    .replace(/^[\s:：]+|[\s.。,，]+$/gu, "")
    .replace(/(?:到|为|标记为?完成|已?完成)$/u, "")
    .trim();
}

function splitRename(clause: Clause): { task: string; title: string } | undefined {
  const found = [...clause.text.matchAll(/\uE000\d+\uE001/gu)].map((match) => restore(match[0], clause.quoted));
  if (found[0] !== undefined && found[1] !== undefined) return { task: found[0], title: found[1] };
  const match = /(?:tasks?|任务)\s+(.+?)\s*(?:\bto\b|为|成)\s*(.+)$/iu.exec(clause.text);
  if (match?.[1] === undefined || match[2] === undefined) return undefined;
  return { task: restore(match[1], clause.quoted), title: restore(match[2], clause.quoted) };
}

/** A date in words or figures, `YYYY-MM-DD`. */
function dateOf(clause: Clause): string | undefined {
  const figures = /\b\d{4}-\d{2}-\d{2}\b/u.exec(clause.text)?.[0];
  if (figures !== undefined) return figures;
  if (/\btoday\b|今天/iu.test(clause.text)) return clause.today;
  if (!/\btomorrow\b|明天/iu.test(clause.text)) return undefined;
  const day = new Date(`${clause.today}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + 1);
  return day.toISOString().slice(0, 10);
}

/** The planner's view that a question is about; without a date, the tasks that have none. */
function viewOf(clause: Clause): string {
  const view = /\b(?:daily::\d{4}-\d{2}-\d{2}|area::[\w-]+|staging)\b/u.exec(clause.text)?.[0];
  if (view !== undefined) return view;
  const date = dateOf(clause);
  return date === undefined ? "staging" : `daily::${date}`;
}
