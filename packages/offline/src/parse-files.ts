import type { Action } from "./actions.ts";
import { findFolder, findPaths, restore, type Clause, type FoundPath } from "./text.ts";

/** A clause with its paths found. */
interface FileClause extends Clause {
  paths: FoundPath[];
}

/** A rule: which words call for it, and the actions it makes of a clause (none: the next rule is tried). */
interface Rule {
  words: RegExp;
  /** Its verb must stand before every other: "write delete all to a.txt" deletes nothing. */
  mustLead?: boolean;
  actions(clause: FileClause): Action[];
}

const summaryWord = /\bsummar(?:y|ies|i[sz]e[sd]?|i[sz]ing)\b|\boverview of\b|总结|概述|摘要|概括/iu;

const rules: Rule[] = [
  { words: /\brename\b|重命名|改名/iu, mustLead: true, actions: rename },
  { words: /\b(?:copy|duplicate)\b|复制|拷贝/iu, actions: copy },
  { words: /\bmove\b|移动|移到|挪到/iu, mustLead: true, actions: move },
  { words: /\b(?:delete|remove|erase)\b|删除|删掉|移除/iu, mustLead: true, actions: remove },
  { words: summaryWord, actions: summarize },
  { words: /\b(?:create|make|add|new|set up)\b|创建|新建|建立|添加/iu, actions: createFolder },
  { words: /\b(?:append|add|insert)\b|追加|添加|末尾|加上/iu, actions: append },
  { words: /\b(?:update|replace|overwrite|change|edit|set)\b|更新|修改|替换|覆盖|编辑|改为|改成/iu, actions: update },
  {
    words: /\b(?:create|make)\b|\bnew (?:file|document)\b|创建|新建|建立|生成/iu,
    actions: (clause) => create(clause, false),
  },
  { words: /\b(?:write|save|put)\b|写(?!了什么|的是什么)|保存|存到|存入/iu, actions: (clause) => create(clause, true) },
  { words: /\b(?:search|grep|find|look for|locate|where)\b|搜索|查找|寻找|搜|找/iu, actions: search },
  { words: /\b(?:list|ls|what|which|show|display|see)\b|列出|有哪些|有什么|查看|显示|看看/iu, actions: list },
  {
    words:
      /\b(?:read|open|show|display|print|cat|view|see|look|what|tell|compare|give|count|check)\b|读|打开|查看|显示|看|内容|比较|对比|写了什么|是什么/iu,
    actions: read,
  },
];

/** Characters of a clause that can be a search; longer ones would be slow to look through. */
const longestSearch = 500;
/** Paths of one clause that are looked at. */
const mostPaths = 20;

/** The file requests in a clause; empty when no rule applies. */
export function parseFileClause(clause: Clause): Action[] {
  const paths = findPaths(clause.text, clause.quoted).slice(0, mostPaths);
  let words = clause.text;
  for (const found of paths.toReversed()) words = `${words.slice(0, found.start)} ␟ ${words.slice(found.end)}`;
  const first = Math.min(...rules.map((rule) => position(rule, words)));
  for (const rule of rules) {
    const at = position(rule, words);
    if (at === Number.POSITIVE_INFINITY || (rule.mustLead === true && at > first)) continue;
    const actions = rule.actions({ ...clause, paths });
    if (actions.length > 0) return actions;
  }
  return [];
}

function position(rule: Rule, words: string): number {
  return rule.words.exec(words)?.index ?? Number.POSITIVE_INFINITY;
}

/** The paths of the clause; where it names none, a quotation or folder, and for "it" what was spoken of before. */
function objects(clause: FileClause): string[] {
  const named = clause.paths.map((found) => found.path);
  if (named.length > 0) return named;
  const quoted = findPaths(clause.text, clause.quoted, true).map((found) => found.path);
  if (quoted.length > 0) return quoted;
  const folder = findFolder(clause.text, clause.quoted);
  if (folder !== undefined) return [folder];
  return isAboutEarlier(clause) ? clause.earlier : [];
}

function isAboutEarlier(clause: FileClause): boolean {
  return /\b(?:it|them|this|that|the (?:file|folder|result|copy))\b|它|其|该文件|这个文件|这些/iu.test(clause.text);
}

/** Source and target of "a to b"; a target that is a folder gets the source's name. */
function pair(clause: FileClause): { sources: string[]; target: string } | undefined {
  const found = clause.paths.length >= 2 ? clause.paths : findPaths(clause.text, clause.quoted, true);
  const folder = findFolder(clause.text, clause.quoted);
  const target = found.findLast((path) =>
    /(?:\bto|\binto|\bas|\bin|到|为|成|入|至)\s*(?:the\s+)?(?:file\s+|folder\s+|文件夹|目录)?$/iu.test(
      clause.text.slice(0, path.start),
    ),
  );
  const sources = found.filter((path) => path !== target).map((path) => path.path);
  const from = sources.length > 0 ? sources : isAboutEarlier(clause) || target !== undefined ? clause.earlier : [];
  const first = from[0];
  if (first === undefined) return undefined;
  if (target !== undefined && !target.path.endsWith("/") && target.path !== folder)
    return { sources: from, target: target.path };
  const into = target?.path ?? folder;
  if (into === undefined || into === first) return undefined;
  return { sources: from, target: `${into.replace(/\/+$/u, "")}/${baseName(first)}` };
}

function baseName(path: string): string {
  return path.replace(/\/+$/u, "").replace(/^.*\//u, "");
}

function rename(clause: FileClause): Action[] {
  const parts = pair(clause);
  const source = parts?.sources[0];
  if (parts === undefined || source === undefined) return [];
  const folder = source.slice(0, source.length - baseName(source).length);
  if (parts.target.includes("/") && parts.target !== folder + baseName(parts.target)) {
    return [{ kind: "move", source, destination: parts.target }];
  }
  return [{ kind: "rename", path: source, name: baseName(parts.target) }];
}

function copy(clause: FileClause): Action[] {
  const parts = pair(clause);
  return parts === undefined ? [] : [{ kind: "derive", how: "copy", sources: parts.sources, path: parts.target }];
}

function move(clause: FileClause): Action[] {
  const parts = pair(clause);
  if (parts === undefined) return [];
  const into = parts.target.slice(0, parts.target.length - baseName(parts.target).length);
  return parts.sources.map((source, index) => ({
    kind: "move",
    source,
    destination: index === 0 ? parts.target : into + baseName(source),
  }));
}

function remove(clause: FileClause): Action[] {
  const isTarget = (path: FoundPath): boolean =>
    /(?:\bto|\binto|入|到)\s*(?:文件\s*)?$/iu.test(clause.text.slice(0, path.start));
  if (clause.paths.some(isTarget)) return [];
  return objects(clause).map((path) => ({ kind: "delete", path }));
}

function summarize(clause: FileClause): Action[] {
  const first = clause.paths[0];
  const isMade = /\b(?:create|make|write|save)\b|创建|新建|写/iu.test(clause.text.slice(0, first?.start ?? 0));
  const target =
    clause.paths.findLast((path) =>
      /(?:\bto|\binto|\bin|\bas|到|入|成|为|在)\s*(?:the |a )?(?:new )?(?:file\s*|文件\s*)?$/iu.test(
        clause.text.slice(0, path.start),
      ),
    ) ?? (isMade && first !== undefined && summaryWord.test(clause.text.slice(first.end)) ? first : undefined);
  const named = clause.paths.filter((path) => path !== target).map((path) => path.path);
  const sources = named.length > 0 ? named : clause.earlier;
  if (sources.length === 0) return [];
  if (target === undefined) return [{ kind: "summarize", paths: sources }];
  return [{ kind: "derive", how: "summary", sources, path: target.path }];
}

function createFolder(clause: FileClause): Action[] {
  if (!/\b(?:folders?|director(?:y|ies))\b|文件夹|目录/iu.test(clause.text)) return [];
  const files = clause.paths.filter((found) => /\.\w{1,8}$/u.test(found.path));
  if (files.length > 0) return [];
  const named = clause.paths.length > 0 ? clause.paths.map((found) => found.path) : objects({ ...clause, earlier: [] });
  return named.map((path) => ({ kind: "create_folder", path: path.replace(/\/+$/u, "") }));
}

/** The content that a clause gives for a file, before its path or after it; `undefined` when it gives none. */
function contentOf(clause: FileClause, target: FoundPath): string | undefined {
  const after = clause.text.slice(target.end);
  const following =
    /^\s*(?:的?文件)?[，,]?\s*(?:(?:so that it|that|which|and|to)\s+)?(?:with(?: the| this)?(?: (?:following )?(?:contents?|text|words?|body|line)\b)?(?: of)?|containing|contains|saying|says|reads|contents?(?: is)?|to (?:say|contain|be)|by|中|里|后面)?\s*(?:写入|写上|追加|添加|加上)?\s*(?:新的?)?(?:内容|文本|文字)?\s*(?:改?为|改成|是|写着|包含)?\s*[:：]?\s*([\s\S]+)$/iu.exec(
      after,
    );
  const before = clause.text.slice(0, target.start);
  const preceding =
    /(?:\b(?:write|put|save|add|append|insert)\b|把|将|写|追加|添加|保存)\s*(?:the (?:text|line|words?)\s+|内容\s*)?([\s\S]+?)\s*(?:\b(?:to|into|in|onto|as|at the end of|on)\s+(?:the )?(?:end of )?(?:a )?(?:new )?(?:file )?|写入到?|写到|保存到|保存为|存到|存入|追加到|添加到|加到|到|进)\s*(?:文件\s*)?$/iu.exec(
      before,
    );
  const part = preceding?.[1] ?? following?.[1];
  if (part === undefined) return undefined;
  const plain = part.replace(
    /^(?:an?|the|this|another)\s+(?:new )?(?:line|text|sentence|words?|note)\s*(?:saying|of|:)?\s*(?=\uE000)/iu,
    "",
  );
  const text = restore(plain, clause.quoted);
  return plain.includes("\uE000") ? text : text.replace(/[.。]$/u, "");
}

/** Where content goes: the path after "to", else the first. */
function targetOf(clause: FileClause): FoundPath | undefined {
  const paths = clause.paths.length > 0 ? clause.paths : findPaths(clause.text, clause.quoted, true);
  const marked = paths.findLast((path) =>
    /(?:\bto|\binto|\bin|入|到|在|向|往)\s*(?:the )?(?:end of )?(?:new )?(?:file )?(?:文件\s*)?$/iu.test(
      clause.text.slice(0, path.start),
    ),
  );
  if (marked !== undefined) return marked;
  if (paths[0] !== undefined) return paths[0];
  const it = /\bit\b|它/iu.exec(clause.text);
  const path = clause.earlier[0];
  return it === null || path === undefined ? undefined : { path, start: it.index, end: it.index + it[0].length };
}

function append(clause: FileClause): Action[] {
  const target = targetOf(clause);
  const content = target === undefined ? undefined : contentOf(clause, target);
  if (target === undefined || content === undefined) return [];
  return [{ kind: "append", path: target.path, content }];
}

function update(clause: FileClause): Action[] {
  const target = targetOf(clause);
  const content = target === undefined ? undefined : contentOf(clause, target);
  if (target === undefined || content === undefined) return [];
  return [{ kind: "update", path: target.path, content }];
}

function create(clause: FileClause, overwrite: boolean): Action[] {
  const target = targetOf(clause);
  if (target === undefined) return [];
  const others = clause.paths.filter(
    (found) => found !== target && /^[\s,、和及與]*(?:and|files?)?[\s,、和]*$/iu.test(between(clause, target, found)),
  );
  const last = others.at(-1) ?? target;
  const content = contentOf(clause, last.end > target.end ? last : target);
  if (overwrite && content === undefined) return [];
  return [target, ...others].map((found) => ({ kind: "create", path: found.path, content: content ?? "", overwrite }));
}

/** The words between two paths, less the paths that stand there too. */
function between(clause: FileClause, left: FoundPath, right: FoundPath): string {
  const [start, end] = left.end <= right.start ? [left.end, right.start] : [right.end, left.start];
  let words = clause.text.slice(start, end);
  for (const found of clause.paths) words = words.replace(clause.text.slice(found.start, found.end), "");
  return words;
}

function search(clause: FileClause): Action[] {
  const { text, quoted } = clause;
  if (text.length > longestSearch) return [];
  const mark = /\uE000\d+\uE001/u.exec(text)?.[0];
  const folder = /\b(?:in|inside|under|within)\b|在/iu.test(text) ? findFolder(text, quoted) : undefined;
  const words =
    /(?:\b(?:named|called|matching|for|containing|contains?|mention(?:ing|s)?|grep|find|locate|with)\b|名为|叫做?|包含|含有|内容|搜索|查找|寻找|搜|找)\s*(?:the )?(?:files? |text |word |string |all |every |any |that |which |named |called |containing |mention(?:s|ing)? |contains? |with )*(?:文件|文本|含有|包含|名为)*\s*([^，,]+?)\s*(?:\b(?:in|inside|under|within|from)\b.*|的?(?:所有)?文件.*)?$/iu.exec(
      text,
    )?.[1];
  const raw = restore(mark ?? words ?? "", quoted).replace(/^(?:所有|全部|一下)\s*/u, "");
  const query = raw.replace(/^\*+|\*+$/gu, "");
  if (query === "" || /^(?:all|files?|文件|it|out)$/iu.test(query)) return [];
  const byName = /\b(?:named|called|file ?names?|locate|where is)\b|名为|叫|文件名/iu.test(text);
  const byContent =
    /\b(?:contain\w*|mention\w*|text|contents?|grep|search for|occurrences?|in (?:all |the )?files)\b|内容|包含|含有|提到|文本/iu.test(
      text,
    );
  if (byContent && !byName) return [{ kind: "search_content", path: folder ?? ".", query }];
  if (byName || clause.paths.length > 0 || /\bfiles?\b|文件/iu.test(text)) return [{ kind: "search_names", query }];
  return mark === undefined && !/\b(?:search|find|look for)\b|搜|找/iu.test(text)
    ? []
    : [{ kind: "search_content", path: folder ?? ".", query }];
}

function list(clause: FileClause): Action[] {
  if (clause.paths.some((found) => /\.\w{1,8}$/u.test(found.path))) return [];
  const aboutFiles = /\b(?:files?|folders?|director(?:y|ies)|workspace|ls)\b|文件|目录|工作区/iu.test(clause.text);
  if (!aboutFiles && clause.paths.length === 0) return [];
  const folder = clause.paths[0]?.path ?? findFolder(clause.text, clause.quoted) ?? ".";
  return [{ kind: "list", path: folder.replace(/(?<=.)\/+$/u, "") }];
}

function read(clause: FileClause): Action[] {
  const range =
    /\blines?\s+(\d+)(?:\s*(?:-|–|to|through)\s*(\d+))?|第\s*(\d+)\s*(?:(?:到|至|-)\s*第?\s*(\d+))?\s*行/iu.exec(
      clause.text,
    );
  const start = Number(range?.[1] ?? range?.[3]);
  const end = Number(range?.[2] ?? range?.[4] ?? start);
  const paths = objects(clause).filter((path) => path !== ".");
  return paths.map((path) => ({ kind: "read", path, ...(range === null ? {} : { start, end }) }));
}
