import type { Action } from "./actions.ts";
import { parseFileClause } from "./parse-files.ts";
import { parseTaskClause } from "./parse-tasks.ts";
import { protect, type Clause } from "./text.ts";

/** Maximum actions per turn; the answer lists what was left out. */
const maxActions = 10;
/** Maximum characters outside quotations; longer messages are not parsed. */
const maxLength = 10_000;

const verbs =
  "read|open|show|list|search|look|grep|create|make|write|save|put|add|update|replace|overwrite|change|move|rename|delete|" +
  "remove|summari[sz]e|tell|simulate|schedule|complete|finish|mark|give";
const chineseVerbs =
  "读|打开|查看|看|显示|列出|查找|搜索|找|创建|新建|建立|写|保存|添加|更新|修改|替换|移动|重命名|改名|删除|删掉|移除|总结|" +
  "概述|概括|仿真|模拟|安排|完成|标记|把|将|给我|告诉";

const breaks = new RegExp(
  `(${[
    String.raw`\s*\n+\s*(?:[-*•]|\d+[.)、])?\s*`,
    String.raw`[.;!?]\s+`,
    String.raw`\s*[。；！？]\s*`,
    String.raw`\s*,?\s*\b(?:and\s+)?(?:then|after that|afterwards|finally)\b,?\s*(?:please\s+)?`,
    String.raw`\s*,?\s+and\s+(?:also\s+)?(?=(?:please\s+)?(?:${verbs})\b)`,
    String.raw`\s*,\s*(?=(?:${verbs})\b)`,
    String.raw`\s*[，,、]?\s*(?:然后|接着|之后|随后|最后|再(?=${chineseVerbs})|并且|并(?=${chineseVerbs})|同时)\s*`,
    String.raw`\s*，\s*(?=(?:请)?(?:${chineseVerbs}))`,
    String.raw`(?<!\S)和\s*(?=(?:${chineseVerbs}))`,
  ].join("|")})`,
  "iu",
);

/** "with content: …" continues over the next lines and sentences. */
const opensContent = /(?:with|containing|contents?|says|text|内容)(?:\s*(?:is|为|是))?\s*[:：]/iu;

/** A clause with the following fragments that no rule understands alone. `actions` are those of its first fragment. */
interface Group {
  text: string;
  actions: Action[];
}

/**
 * The actions in a message, in order; empty if no rule matches. An unmatched fragment belongs to the previous one, so
 * that "create a.txt with bread and read milk" is one request.
 */
export function parseRequests(message: string, today: string): Action[] {
  const { body, quoted } = protect(message);
  if (body.length > maxLength) return [];
  const all: Action[] = [];
  let earlier: string[] = [];
  let group: Group | undefined;
  const close = (): void => {
    if (group === undefined) return;
    const { text, actions: first } = group;
    const together = parseClause({ text, quoted, earlier, today });
    const actions = together.length > 0 ? together : first;
    for (const action of actions) addAction(all, action);
    earlier = pathsOf(actions);
  };
  for (const piece of split(body.replaceAll(/[^\S\n]{9,}/gu, " "))) {
    if (piece.text.trim() === "") continue;
    const known: string[] = group === undefined ? earlier : pathsOf(group.actions);
    const actions = parseClause({ text: piece.text, quoted, earlier: known, today });
    const isContent = group !== undefined && opensContent.test(group.text) && continuesContent(piece);
    if (actions.length === 0 || isContent) {
      if (group !== undefined) group.text += piece.joint + piece.text;
      continue;
    }
    close();
    group = { text: piece.text, actions };
  }
  close();
  return all.slice(0, maxActions);
}

/** "Read a and write a summary to b" reads a once: the summary reads it anyway. */
function addAction(actions: Action[], action: Action): void {
  for (let last = actions.at(-1); last?.kind === "read"; last = actions.at(-1)) {
    if (action.kind !== "summarize" || !action.paths.includes(last.path)) break;
    actions.pop();
  }
  actions.push(action);
}

/** Whether a fragment continues an open content: a new line or sentence without a file name. */
function continuesContent(piece: { text: string; joint: string }): boolean {
  return /^\s*\n|^[.;!?]\s/u.test(piece.joint) && !/\.\w{1,6}\b/u.test(piece.text);
}

/** The fragments of a text between separators; `joint` is the separator before a fragment. */
function split(body: string): { text: string; joint: string }[] {
  const parts = body.split(breaks);
  return parts.flatMap((text, index) => (index % 2 === 0 ? { text, joint: parts[index - 1] ?? "" } : []));
}

function parseClause(clause: Clause): Action[] {
  const text = clause.text.replace(
    /^\s*(?:please|kindly|can you|could you|would you|i want you to|请你?|帮我|麻烦|首先|先|first,?)\s*/iu,
    "",
  );
  const trimmed = { ...clause, text: text.replace(/[\s.。?？，,]+$/u, "") };
  const tasks = parseTaskClause(trimmed);
  return tasks.length > 0 ? tasks : parseFileClause(trimmed);
}

/** What "it" refers to after these actions. */
function pathsOf(actions: Action[]): string[] {
  return actions.flatMap((action) => {
    if (action.kind === "summarize") return action.into ?? action.paths;
    if (action.kind === "move") return [action.destination];
    return "path" in action && action.kind !== "list" && action.kind !== "search" ? [action.path] : [];
  });
}
