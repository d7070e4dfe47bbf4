import type { Action } from "./actions.ts";
import { findFolder, findPaths, restore, type Clause, type FoundPath } from "./text.ts";

/** A clause with the paths found in it. */
interface FileClause extends Clause {
  paths: FoundPath[];
}

/** A rule: its trigger words, and the actions for a clause (none: try the next rule). */
interface Rule {
  words: RegExp;
  /** Its verb must come first: "write delete all to a.txt" deletes nothing. */
  mustLead?: boolean;
  actions(clause: FileClause): Action[];
}

const summaryWord = /\bsummar(?:y|ies|i[sz]e[sd]?|i[sz]ing)\b|总结|概述|摘要|概括/iu;

const rules: Rule[] = [
  { words: /\b(?:move|rename)\b|移动|移到|重命名|改名/iu, mustLead: true, actions: move },
  { words: /\b(?:delete|remove|erase)\b|删除|删掉|移除/iu, mustLead: true, actions: remove },
  { words: summaryWord, actions: summarize },
  { words: /\b(?:create|make|add|new)\b|创建|新建|建立|添加/iu, actions: createFolder },
  {
    words: /\b(?:create|make)\b|\bnew (?:file|document)\b|创建|新建|建立|生成/iu,
    actions: (clause) => write(clause, "create"),
  },
  {
    words:
      /\b(?:write|save|put|update|replace|overwrite|change|set)\b|写(?!了什么|的是什么)|保存|存到|存入|更新|修改|替换|覆盖|改[为成]/iu,
    actions: (clause) => write(clause, "write"),
  },
  { words: /\b(?:search|grep|find|look for)\b|搜索|查找|寻找|搜|找/iu, actions: search },
  { words: /\b(?:list|ls|what|which|show|see)\b|列出|有哪些|有什么|查看|显示|看看/iu, actions: list },
  {
    words:
      /\b(?:read|open|show|display|print|view|see|look|what|tell|give|check)\b|读|打开|查看|显示|看|内容|写了什么|是什么/iu,
    actions: read,
  },
];

/** Maximum length of a search clause; longer ones would be slow. */
const maxSearchLength = 500;
/** Paths examined per clause. */
const maxPaths = 20;

/** The file actions in a clause; empty if no rule matches. */
export function parseFileClause(clause: Clause): Action[] {
  const paths = findPaths(clause.text, clause.quoted).slice(0, maxPaths);
  let words = clause.text;
  for (const found of paths.toReversed()) words = `${words.slice(0, found.start)} ␟ ${words.slice(found.end)}`;
  const position = (rule: Rule): number => rule.words.exec(words)?.index ?? Infinity;
  const first = Math.min(...rules.map(position));
  for (const rule of rules) {
    const at = position(rule);
    if (at === Infinity || (rule.mustLead === true && at > first)) continue;
    const actions = rule.actions({ ...clause, paths });
    if (actions.length > 0) return actions;
  }
  return [];
}

/** The clause's paths; without any, a quotation or folder, and for "it" the previous paths. */
function objects(clause: FileClause): string[] {
  const named = clause.paths.map((found) => found.path);
  if (named.length > 0) return named;
  const quoted = findPaths(clause.text, clause.quoted, true).map((found) => found.path);
  if (quoted.length > 0) return quoted;
  const folder = findFolder(clause.text, clause.quoted);
  if (folder !== undefined) return [folder];
  const isAboutEarlier = /\b(?:it|them|this|that)\b|它|其|该文件|这个文件/iu.test(clause.text);
  return isAboutEarlier ? clause.earlier : [];
}

/** The last path after a word like "to". */
function pathBehind(clause: FileClause, paths: readonly FoundPath[] = clause.paths): FoundPath | undefined {
  return paths.findLast((path) =>
    /(?:\bto|\binto|\bas|\bin|到|(?<!内容)为|成|入|在)\s*(?:the |a )?(?:new )?(?:file\s*|folder\s*|文件夹|文件|目录)?$/iu.test(
      clause.text.slice(0, path.start),
    ),
  );
}

function move(clause: FileClause): Action[] {
  const found = clause.paths.length >= 2 ? clause.paths : findPaths(clause.text, clause.quoted, true);
  const folder = findFolder(clause.text, clause.quoted);
  const target = pathBehind(clause, found);
  const source = found.find((path) => path !== target)?.path ?? clause.earlier[0];
  if (source === undefined) return [];
  const base = source.replace(/^.*\//u, "");
  if (target !== undefined && !target.path.endsWith("/") && target.path !== folder) {
    const isName = /\brename\b|重命名|改名/iu.test(clause.text) && !target.path.includes("/");
    const destination = isName ? source.slice(0, source.length - base.length) + target.path : target.path;
    return [{ kind: "move", source, destination }];
  }
  const into = target?.path ?? folder;
  return into === undefined ? [] : [{ kind: "move", source, destination: `${into.replace(/\/+$/u, "")}/${base}` }];
}

function remove(clause: FileClause): Action[] {
  if (pathBehind(clause) !== undefined && !/\bfolder\b|文件夹|目录/iu.test(clause.text)) return [];
  return objects(clause).map((path) => ({ kind: "delete", path }));
}

function summarize(clause: FileClause): Action[] {
  const target = pathBehind(clause);
  const named = clause.paths.filter((path) => path !== target).map((path) => path.path);
  const paths = named.length > 0 ? named : clause.earlier;
  if (paths.length === 0) return [];
  return [{ kind: "summarize", paths, ...(target === undefined ? {} : { into: target.path }) }];
}

function createFolder(clause: FileClause): Action[] {
  if (!/\b(?:folders?|director(?:y|ies))\b|文件夹|目录/iu.test(clause.text)) return [];
  if (clause.paths.some((found) => /\.\w{1,8}$/u.test(found.path))) return [];
  return objects({ ...clause, earlier: [] }).map((path) => ({
    kind: "create_folder",
    path: path.replace(/\/+$/u, ""),
  }));
}

/** The content for a file, before or after its path; `undefined` if there is none. */
function contentOf(clause: FileClause, target: FoundPath): string | undefined {
  const following =
    /^\s*(?:的?文件)?[，,]?\s*(?:(?:with(?: the| this)?(?: (?:contents?|text)\b)?|containing|saying|to say)\s*)?(?:的?(?:内容|文本)\s*)?(?:(?:替换|更新|改)?[为成]|是)?\s*[:：]?\s*([\s\S]+)$/iu.exec(
      clause.text.slice(target.end),
    );
  const preceding =
    /(?:\b(?:write|put|save)\b|把|将|写|保存)\s*(?:the text\s+|内容\s*)?([\s\S]+?)\s*(?:\b(?:to|into|in|as)\s+(?:the )?(?:file )?|写入到?|写到|保存到|保存为|存到|存入)\s*(?:文件\s*)?$/iu.exec(
      clause.text.slice(0, target.start),
    );
  const part = preceding?.[1] ?? following?.[1];
  if (part === undefined) return undefined;
  const text = restore(part, clause.quoted);
  return part.includes("\uE000") ? text : text.replace(/[.。]$/u, "");
}

function write(clause: FileClause, kind: "create" | "write"): Action[] {
  const paths = clause.paths.length > 0 ? clause.paths : findPaths(clause.text, clause.quoted, true);
  const target = pathBehind(clause, paths) ?? paths[0];
  if (target === undefined) return [];
  const content = contentOf(clause, target);
  if (content === undefined && kind !== "create") return [];
  return [{ kind, path: target.path, content: content ?? "" }];
}

function search(clause: FileClause): Action[] {
  const { text, quoted } = clause;
  if (text.length > maxSearchLength) return [];
  const mark = /\uE000\d+\uE001/u.exec(text)?.[0];
  const words =
    /(?:\bfor\b|\bcontaining\b|\bgrep\b|\bfind\b|包含|含有|搜索|查找|寻找|搜|找)\s*(?:the )?(?:files? |text |word |all |containing )*(?:文件|文本|含有|包含|内容)*\s*([^，,]+?)\s*(?:\bin\b.*|的?(?:所有)?文件.*)?$/iu.exec(
      text,
    )?.[1];
  const query = restore(mark ?? words ?? "", quoted);
  if (query === "" || /^(?:all|files?|文件|it|out)$/iu.test(query)) return [];
  return [{ kind: "search", path: folderOf(clause), query }];
}

function list(clause: FileClause): Action[] {
  if (clause.paths.some((found) => /\.\w{1,8}$/u.test(found.path))) return [];
  const aboutFiles = /\b(?:files?|folders?|director(?:y|ies)|workspace|ls)\b|文件|目录|工作区/iu.test(clause.text);
  if (!aboutFiles && clause.paths.length === 0) return [];
  return [{ kind: "list", path: folderOf(clause).replace(/(?<=.)\/+$/u, "") }];
}

/** The target folder: "docs/", "the docs folder", "in docs"; default the workspace. */
function folderOf({ text, quoted, paths }: FileClause): string {
  const name = /(?:\b(?:in|of)\s+(?:the\s+)?|在\s*)([\w./-]+)/iu.exec(text)?.[1] ?? "";
  const isFolder = name !== "" && !/^(?:all|files?|workspace|this|folder|project|here)$/iu.test(name);
  return paths[0]?.path ?? findFolder(text, quoted) ?? (isFolder ? name : ".");
}

function read(clause: FileClause): Action[] {
  return objects(clause).flatMap((path) => (path === "." ? [] : [{ kind: "read" as const, path }]));
}
