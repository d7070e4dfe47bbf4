import { parentOf, type KnownFiles } from "./known-files.ts";
import { exceptions } from "./task-words.ts";
import { plainPath } from "../../../src/guardrails/turn.ts";

/** A file name or path in a request: letters of any script, with an extension. */
const fileToken = String.raw`["'“‘\x60]?[\p{L}\p{N}_./-]{0,200}[\p{L}\p{N}_-]\.[a-z0-9]{1,8}["'”’\x60]?`;
const listOfFiles = String.raw`(${fileToken}(?:\s*(?:,\s*and|,|、|，|\band\b|和|与|及|以及)\s*${fileToken})+)`;
const namedLists = [
  new RegExp(String.raw`\b(?:move|put|sort|file)\s+(?:the\s+)?(?:files?\s+)?${listOfFiles}`, "iu"),
  new RegExp(String.raw`(?:把|将|移动|移)\s*(?:文件)?\s*${listOfFiles}`, "iu"),
];

const folderWord = String.raw`["'“‘\x60]?(?<folder>[\p{L}\p{N}_./-]{1,200}?)["'”’\x60]?`;
const allFiles = [
  new RegExp(
    String.raw`\b(?:all|every|each)\s+(?:of\s+)?(?:the\s+|my\s+|these\s+|those\s+)?(?:single\s+)?(?:\*?\.?(?<kind>[a-z0-9]{1,8})\s+)?(?:files?|documents?)\b(?<rest>[^.;,\n]*)`,
    "iu",
  ),
  /\b(?:all|every|each)\s+(?:of\s+)?(?:the\s+|my\s+)?\*?\.(?<kind>[a-z0-9]{1,8})\b(?<rest>[^.;,\n]*)/iu,
  /\b(?<kind>)(?:everything|all files|the files|(?:the |all )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten) files)\s+(?<rest>(?:in|from|inside|under)\s[^.;,\n]*)/iu,
  new RegExp(
    String.raw`(?:${folderWord}\s*(?:文件夹|目录)?\s*(?:里|中|下|内)(?:面|边)?的?)?(?:所有|全部)的?\s*(?:\*?\.?(?<kind>[a-z0-9]{1,8})\s*)?(?:格式)?的?(?:文件|文档)`,
    "iu",
  ),
  new RegExp(
    String.raw`${folderWord}\s*(?:文件夹|目录)?\s*(?:里|中|下|内)(?:面|边)?的?\s*(?:\*?\.?(?<kind>[a-z0-9]{1,8})\s*)?(?:文件|文档)(?:都|全部?|统统|一起)`,
    "iu",
  ),
];

/** Qualifiers after "all files" that narrow it. */
const narrowing =
  /^\s*(?:that|which|whose|with|about|named|called|containing|older|larger|smaller|bigger|newer|modified|created|starting|ending|matching|beginning|of type|for|from (?:last|this|yesterday))\b/iu;
const inFolder = new RegExp(
  String.raw`^\s*(?:in|from|inside|under|of)\s+(?:the\s+)?(?:folder\s+|directory\s+)?${folderWord}(?=\s|$)`,
  "iu",
);
const workspaceWords = new Set([
  "this",
  "workspace",
  "here",
  "root",
  "my",
  "current",
  "当前",
  "工作区",
  "根",
  "这个",
  "这",
]);

/** Maximum characters of a request that rules parse; a longer one is about more than moving files. */
const maxRequestLength = 4000;

/** The scope of a move request: named files, or all files of a kind in a folder. */
export type Scope =
  | { kind: "named"; files: string[] }
  /** `ending` without a dot; `folder` is `null` if unspecified. */
  | { kind: "all"; ending: string | null; folder: string | null }
  /** Not expressed in a way that rules can parse. */
  | { kind: "unknown" };

/** Parses the scope of a move request. Any qualifier of "all" makes it unknown: never more than was asked. */
export function scopeOf(given: string, isSorting: boolean): Scope {
  // The patterns take quadratic time on runs of white space.
  const request = given.replaceAll(/[^\S\n]+/gu, " ").replaceAll(/\s*\n\s*/gu, "\n");
  if (request.length > maxRequestLength) return { kind: "unknown" };
  for (const list of namedLists) {
    const named = list.exec(request)?.[1];
    if (named === undefined) continue;
    const tokens = named.match(new RegExp(fileToken, "giu")) ?? [];
    return { kind: "named", files: tokens.map((token) => plainPath(token.replace(/["'“”‘’`]/gu, ""))) };
  }
  if (exceptions.test(request)) return { kind: "unknown" };
  for (const pattern of allFiles) {
    const groups = pattern.exec(request)?.groups;
    if (groups === undefined) continue;
    const rest = groups["rest"] ?? "";
    if (narrowing.test(rest)) return { kind: "unknown" };
    const folder = groups["folder"] ?? inFolder.exec(rest)?.groups?.["folder"];
    return { kind: "all", ending: groups["kind"]?.toLowerCase() || null, folder: folderOf(folder) };
  }
  if (isSorting && /\b(?:the|these|those|my) (?:files|documents)\b|(?:这些|我的|把|将)(?:文件|文档)/iu.test(request)) {
    return { kind: "all", ending: null, folder: null };
  }
  return { kind: "unknown" };
}

function folderOf(word: string | undefined): string | null {
  if (word === undefined) return null;
  return workspaceWords.has(word.toLowerCase()) ? "." : plainPath(word);
}

/**
 * A scope's files that are still in place, and whether the list is complete. "All files" means those directly in the
 * named folder, else in the folders the work has begun on. An extension that no file has was an adjective, which rules
 * cannot judge.
 */
export function filesInScope(
  scope: Scope,
  known: KnownFiles,
  moved: readonly string[],
): { files: string[]; isWhole: boolean } {
  switch (scope.kind) {
    case "named":
      return { files: scope.files, isWhole: true };
    case "all": {
      const { ending } = scope;
      const folders = scope.folder === null ? moved.map(parentOf) : foldersNamed(scope.folder, known);
      const isMeant = (path: string): boolean => ending === null || path.toLowerCase().endsWith(`.${ending}`);
      return {
        files: [...known.files].filter((path) => folders.includes(parentOf(path)) && isMeant(path)),
        isWhole:
          folders.length > 0 &&
          folders.every((folder) => known.folders.get(folder)?.whole === true) &&
          [...moved, ...known.files].some(isMeant),
      };
    }
    case "unknown":
      return { files: [], isWhole: false };
  }
}

/** Chinese has no space before a name: the longest known folder at the end is meant. */
function foldersNamed(words: string, known: KnownFiles): string[] {
  const candidates = [...known.folders.keys()].filter((folder) => words === folder || words.endsWith(folder));
  return candidates.toSorted((one, other) => other.length - one.length).slice(0, 1);
}
