import type { Language } from "@millrace/engine/language";

/** Chooses the wording for a language. */
export function say(language: Language, english: string, chinese: string): string {
  return language === "zh" ? chinese : english;
}

/** The language of a message: Chinese as soon as there is a Chinese character outside quotes. */
export function languageOf(text: string): Language {
  const { body } = protect(text);
  const words = body.replace(marks, "").trim();
  return /\p{Script=Han}/u.test(words === "" ? text : words) ? "zh" : "en";
}

const marks = /\uE000\d+\uE001/gu;

const quotes = [
  /```[^\n`]{0,40}\n([\s\S]*?)\n?```/gu,
  /「([^」]*)」/gu,
  /『([^』]*)』/gu,
  /"((?:[^"\\]|\\.)*)"/gu,
  /“([^”]*)”/gu,
  /‘([^’]*)’/gu,
  /《([^》]*)》/gu,
  /`([^`\n]*)`/gu,
  /(?<![\p{L}\p{N}])'([^'\n]*)'(?![\p{L}\p{N}])/gu,
];

/** A text with placeholders for its quoted parts, so that rules do not look inside them. */
export interface ProtectedText {
  body: string;
  quoted: { inner: string; whole: string }[];
}

/** A clause being parsed, with context from earlier clauses. */
export interface Clause {
  /** The text with placeholders for quotations. */
  text: string;
  quoted: ProtectedText["quoted"];
  /** The previous clause's paths, for "it" and "write a summary to …". */
  earlier: string[];
  /** Today's date, `YYYY-MM-DD`. */
  today: string;
}

/** Replaces quoted parts and code blocks by placeholders; `restore` reverts it. */
export function protect(text: string): ProtectedText {
  const quoted: ProtectedText["quoted"] = [];
  let body = text;
  for (const pattern of quotes) {
    body = body.replace(pattern, (whole: string, inner: string) => {
      quoted.push({ inner, whole });
      return `\uE000${quoted.length - 1}\uE001`;
    });
  }
  return { body, quoted };
}

/** The original text of a part. A part that is a single quotation loses its quotes. */
export function restore(part: string, quoted: ProtectedText["quoted"]): string {
  const alone = /^\s*\uE000(\d+)\uE001\s*$/u.exec(part);
  if (alone !== null) return restoreAll(quoted[Number(alone[1])]?.inner ?? "", quoted);
  return restoreAll(part, quoted).trim();
}

/** A quotation may contain placeholders of earlier quotations. */
function restoreAll(part: string, quoted: ProtectedText["quoted"]): string {
  let text = part;
  for (let depth = 0; depth < quotes.length && text.includes("\uE000"); depth += 1) {
    text = text.replace(marks, (mark) => quoted[Number(mark.slice(1, -1))]?.whole ?? "");
  }
  return text;
}

/** A path in a clause, with its position. */
export interface FoundPath {
  path: string;
  start: number;
  end: number;
}

const notPaths = new Set(["e.g", "i.e", "etc", "and/or", "read/write", "yes/no", "either/or", "true/false", "n/a"]);
const chineseLead =
  /^.*(?:读取|阅读|打开|查看|创建|新建|建立|删除|删掉|移除|更新|修改|写入|保存|移动|重命名|改名|总结|概述|文件|把|将|到|为|成|和|与|在|读|写|看|叫|名)/u;

function looksLikePath(word: string): boolean {
  if (word.length > 300 || notPaths.has(word.toLowerCase()) || word.includes("://") || !/[A-Za-z0-9]/u.test(word))
    return false;
  return /\.[A-Za-z][A-Za-z0-9]{0,9}$/u.test(word) || /^[\w.~@+-]*\/[\w./~@+-]*$/u.test(word);
}

/**
 * The paths in a clause, in order: words with an extension or a slash, and quotations that look like one;
 * `anyQuotation` includes every short quotation.
 */
export function findPaths(clause: string, quoted: ProtectedText["quoted"], anyQuotation = false): FoundPath[] {
  const found: FoundPath[] = [];
  for (const match of clause.matchAll(/\uE000(\d+)\uE001|[\w./~@+-]+/gu)) {
    const start = match.index;
    if (match[1] !== undefined) {
      const path = restore(match[0], quoted);
      const isName = path !== "" && path.length < 200 && /^[^\n"<>|*?]+$/u.test(path);
      if (isName && (anyQuotation || /\.\w{1,9}$/u.test(path) || /^\S*\/\S*$/u.test(path))) {
        found.push({ path, start, end: start + match[0].length });
      }
      continue;
    }
    const word = match[0].replace(/[.]+$/u, "");
    const before = clause.slice(0, start);
    if (before.endsWith(":/") || before.endsWith("://") || clause.startsWith("://", start + word.length)) continue;
    const chinese = /^\.[A-Za-z]/u.test(word)
      ? /[\p{Script=Han}\d]+$/u.exec(before)?.[0].replace(chineseLead, "")
      : undefined;
    if (chinese !== undefined && chinese !== "") {
      found.push({ path: chinese + word, start: start - chinese.length, end: start + word.length });
    } else if (looksLikePath(word)) {
      found.push({ path: word, start, end: start + word.length });
    }
  }
  return found;
}

const notFolders =
  /^(?:the|a|an|new|this|that|empty|called|named|all|my|your|workspace|root|current|project|any|each|every|it|in|of|to|into|from|files?|which|what|for|and|with|one|subfolder)$/iu;
const chineseFolderLead =
  /^.*(?:创建|新建|建立|删除|删掉|列出|查看|显示|名为|叫做|一个|移动|到|把|将|在|和|新的?|当前|这个|该|的)/u;

/** The folder named in a clause ("the drafts folder", "folder called drafts", "drafts 文件夹"), if any. */
export function findFolder(clause: string, quoted: ProtectedText["quoted"]): string | undefined {
  const name = String.raw`(\uE000\d+\uE001|[\w./~@+-]+|\p{Script=Han}+)`;
  const patterns = [
    new RegExp(
      String.raw`(?:folders?|director(?:y|ies)|文件夹|目录)\s*(?:called|named|:|：|叫做?|名为)?\s*${name}`,
      "giu",
    ),
    new RegExp(String.raw`${name}\s*(?:的\s*)?(?:folders?|director(?:y|ies)|文件夹|目录)`, "giu"),
  ];
  for (const pattern of patterns) {
    for (const match of clause.matchAll(pattern)) {
      const word = match[1] ?? "";
      const plain = restore(word, quoted);
      const folder = /^\p{Script=Han}+$/u.test(word)
        ? word.replace(chineseFolderLead, "")
        : plain.replace(/[.]+$/u, "");
      if (folder !== "" && !notFolders.test(folder) && !/^(?:里|中|下|内|有|的|和|并|然后)/u.test(folder))
        return folder;
    }
  }
  return undefined;
}

/**
 * Chunks for streaming: words with the preceding space, Chinese in pairs of characters. Their concatenation is the
 * text.
 */
export function toPieces(text: string): string[] {
  return text.match(/\p{Script=Han}{1,2}|\s*[^\s\p{Script=Han}]+|\s+/gu) ?? [];
}
