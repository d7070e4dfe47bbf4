import type { Action } from "./actions.ts";
import { findPaths, restore, type Clause } from "./text.ts";

const taskWord = /\b(?:tasks?|to-?dos?)\b|任务|待办/iu;
const simulationWord = /\bsimulat(?:e|ion|ing)\b|仿真|运行模拟/iu;

/** The planner and simulator actions in a clause; empty if there are none. */
export function parseTaskClause(clause: Clause): Action[] {
  const words = withoutPaths(clause);
  if (simulationWord.test(words)) {
    const circuit = findPaths(clause.text, clause.quoted)[0]?.path ?? clause.earlier[0];
    return circuit === undefined ? [] : [{ kind: "simulate", circuit }];
  }
  if (!taskWord.test(words)) return [];
  const date = dateOf(clause);
  if (/\b(?:list|show|read|what|which|any|see)\b|列出|查看|显示|有哪些|看看|有什么/iu.test(words)) {
    return [{ kind: "read_tasks", view_context: date === undefined ? "staging" : `daily::${date}` }];
  }
  const name = nameOf(clause);
  if (name === "") return [];
  if (/\b(?:delete|remove|cancel)\b|删除|删掉|取消/iu.test(words)) return [{ kind: "delete_task", task: name }];
  if (/\b(?:create|add|new|make)\b|创建|新建|添加|新增/iu.test(words)) {
    return [{ kind: "create_task", title: name, ...(date === undefined ? {} : { scheduled_date: date }) }];
  }
  if (/\b(?:complete|finish|tick|mark)\b|\bdone\b|完成|标记/iu.test(words))
    return [{ kind: "complete_task", task: name }];
  const isScheduled = /\bschedule\b|安排/iu.test(words) && date !== undefined;
  return isScheduled ? [{ kind: "schedule_task", task: name, date }] : [];
}

/** The clause with its paths blanked, so that "todo.md" is not a task. */
function withoutPaths(clause: Clause): string {
  let words = clause.text;
  for (const found of findPaths(clause.text, clause.quoted).toReversed()) {
    words = `${words.slice(0, found.start)} ${words.slice(found.end)}`;
  }
  return words.replace(/\uE000\d+\uE001/gu, " ");
}

const dateWords = /\b(?:(?:for|on|by|due)\s+)?(?:today|tomorrow|\d{4}-\d{2}-\d{2})\b|(?:到)?(?:今天|明天)/giu;

/** The task's title or id: the quotation, else the words besides verb, noun and date. */
function nameOf(clause: Clause): string {
  const mark = /\uE000\d+\uE001/u.exec(clause.text)?.[0];
  if (mark !== undefined) return restore(mark, clause.quoted);
  return clause.text
    .replace(dateWords, " ")
    .replace(/\b(?:as|is) (?:done|finished|completed?)\b/giu, " ")
    .replace(/^.*?(?:\b(?:tasks?|to-?dos?)\b|任务|待办(?:事项)?)\s*(?:called|named|to|about|:|：|叫做?|名为)?\s*/iu, "")
    .replace(/^[\s:：]+|[\s.。,，]+$/gu, "")
    .replace(/(?:到|为|标记为?完成|已?完成)$/u, "")
    .trim();
}

/** A date in words or digits, `YYYY-MM-DD`. */
function dateOf(clause: Clause): string | undefined {
  const figures = /\b\d{4}-\d{2}-\d{2}\b/u.exec(clause.text)?.[0];
  if (figures !== undefined) return figures;
  if (/\btoday\b|今天/iu.test(clause.text)) return clause.today;
  if (!/\btomorrow\b|明天/iu.test(clause.text)) return undefined;
  return new Date(Date.parse(clause.today) + 86_400_000).toISOString().slice(0, 10);
}
