import type { Action } from "./actions.ts";
import { parseFileClause } from "./parse-files.ts";
import { parseTaskClause } from "./parse-tasks.ts";
import { protect, restore, type Clause, type ProtectedText } from "./text.ts";

/** One thing asked for, with the words it was asked in. `waits`: it was said to come after what stands before it. */
export interface Request {
  action: Action;
  words: string;
  waits: boolean;
}

/** More would not fit into a turn; the answer says what was left out. */
const maxActions = 10;

const verbs =
  "read|open|show|display|print|list|find|search|look|grep|locate|create|make|write|save|put|add|append|insert|update|" +
  "replace|overwrite|change|edit|set|copy|duplicate|move|rename|delete|remove|erase|summari[sz]e|compare|tell|simulate|run|" +
  "schedule|complete|finish|mark|check|remind|reopen|give|count";
const chineseVerbs =
  "读|打开|查看|看|显示|列出|查找|搜索|寻找|找|创建|新建|建立|写|保存|添加|追加|更新|修改|替换|编辑|复制|拷贝|移动|重命名|改名|" +
  "删除|删掉|移除|总结|概述|概括|比较|对比|仿真|模拟|运行|安排|完成|标记|提醒|把|将|在|给我|告诉";

const breaks = new RegExp(
  [
    String.raw`\s*\n+\s*(?:[-*•]|\d+[.)、])?\s*`,
    String.raw`[.;!?]\s+`,
    String.raw`\s*[。；！？]\s*`,
    String.raw`\s*,?\s*\b(?:and\s+)?(?:then|after that|afterwards|finally)\b,?\s*(?:please\s+)?`,
    String.raw`\s*,?\s+and\s+(?:also\s+)?(?=(?:please\s+)?(?:${verbs})\b)`,
    String.raw`\s*,\s*(?=(?:${verbs})\b)`,
    String.raw`\s*[，,、]?\s*(?:然后|接着|之后|随后|最后|再(?=${chineseVerbs})|并且|并(?=${chineseVerbs})|同时|还要)\s*`,
    String.raw`\s*，\s*(?=(?:请)?(?:${chineseVerbs}))`,
    String.raw`(?<!\S)和\s*(?=(?:${chineseVerbs}))`,
  ].join("|"),
  "giu",
);

/** What joins a clause to the one before it and means "only afterwards". */
const afterwards = /then|after|finally|然后|接着|之后|随后|最后|再/iu;

/** Characters outside quotations that the rules look at; a longer message is not for them. */
const maxLength = 10_000;

/** A clause with the pieces after it that no rule understands alone. `actions` are those of its first piece. */
interface Group {
  text: string;
  waits: boolean;
  actions: Action[];
  isContentOpen: boolean;
}

/**
 * What a message asks for, in its order; empty when no rule understands it. A piece that no rule understands belongs to
 * the one before it, so that "create a.txt with bread and read milk" is one request.
 */
export function parseRequests(message: string, today: string): Request[] {
  const { body, quoted } = protect(message);
  if (body.length > maxLength) return [];
  const requests: Request[] = [];
  let earlier: string[] = [];
  let group: Group | undefined;
  const close = (): void => {
    if (group === undefined) return;
    const { text, waits } = group;
    const together = parseClause({ text, quoted, earlier, today });
    const actions = together.length > 0 ? together : group.actions;
    const words = restoreWords(text, quoted);
    requests.push(...actions.map((action) => ({ action, words, waits })));
    earlier = subjectsOf(actions);
  };
  for (const piece of split(shortenSpaces(body))) {
    if (piece.text.trim() === "") continue;
    const known: string[] = group === undefined ? earlier : subjectsOf(group.actions);
    const actions = parseClause({ text: piece.text, quoted, earlier: known, today });
    const isMore: boolean = actions.length === 0 || (group?.isContentOpen === true && isContent(piece));
    if (group !== undefined && isMore) group.text += piece.joint + piece.text;
    if (isMore) continue;
    close();
    group = {
      text: piece.text,
      waits: afterwards.test(piece.joint),
      actions,
      isContentOpen: opensContent.test(piece.text),
    };
  }
  close();
  return withoutDoubleReads(requests).slice(0, maxActions);
}

/** Long runs of blanks make the rules slow and mean nothing outside quotations. */
function shortenSpaces(text: string): string {
  return text.replace(/[^\S\n]{9,}/gu, " ".repeat(8)).replace(/\s*\n\s*\n\s*/gu, "\n\n");
}

/** "Read a and write a summary to b" reads a once: what is made from a file reads it anyway. */
function withoutDoubleReads(requests: Request[]): Request[] {
  const kept: Request[] = [];
  for (const request of requests) {
    let { words, waits } = request;
    const { action } = request;
    for (let last = kept.at(-1); last !== undefined; last = kept.at(-1)) {
      const read = last.action;
      if (action.kind !== "derive" || read.kind !== "read" || read.start !== undefined) break;
      if (!action.sources.includes(read.path)) break;
      kept.pop();
      if (!words.startsWith(last.words)) words = `${last.words}; ${words}`;
      waits = last.waits;
    }
    kept.push({ action, words, waits });
  }
  return kept;
}

/** "with content: …" goes on over the next lines and sentences. */
const opensContent = /(?:with|containing|contents?|says|text|内容)(?:\s*(?:is|为|是))?\s*[:：]/iu;

/** Whether a piece after an open content belongs to it: a new line or sentence that names no file. */
function isContent(piece: { text: string; joint: string }): boolean {
  return /^\s*\n|^[.;!?]\s/u.test(piece.joint) && !/\.\w{1,6}\b/u.test(piece.text);
}

function split(body: string): { text: string; joint: string }[] {
  const pieces: { text: string; joint: string }[] = [];
  let begin = 0;
  let joint = "";
  for (const match of body.matchAll(breaks)) {
    if (match[0] === "") continue;
    pieces.push({ text: body.slice(begin, match.index), joint });
    begin = match.index + match[0].length;
    joint = match[0];
  }
  pieces.push({ text: body.slice(begin), joint });
  return pieces;
}

function parseClause(clause: Clause): Action[] {
  const text = clause.text.replace(
    /^\s*(?:please|kindly|can you|could you|would you|i want you to|i'd like you to|请|请你|帮我|麻烦|首先|先|first,?)\s*/iu,
    "",
  );
  const trimmed = { ...clause, text: text.replace(/[\s.。?？，,]+$/u, "") };
  const tasks = parseTaskClause(trimmed);
  return tasks.length > 0 ? tasks : parseFileClause(trimmed);
}

/** What "it" means after these actions: what they made, else what they looked at. */
function subjectsOf(actions: Action[]): string[] {
  return actions.flatMap((action) => {
    switch (action.kind) {
      case "summarize":
        return action.paths;
      case "move":
        return [action.destination];
      case "rename":
        return [action.path.replace(/[^/]*$/u, action.name)];
      case "list":
      case "search_content":
        return [];
      default:
        return "path" in action ? [action.path] : [];
    }
  });
}

function restoreWords(text: string, quoted: ProtectedText["quoted"]): string {
  return restore(` ${text.trim()}.`, quoted).replace(/\.$/u, "");
}
