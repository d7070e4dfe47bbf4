import { createHash } from "node:crypto";
import { expectedFailure } from "../../../src/tools/runtime/result.ts";
import type { Operation, ToolContext } from "../../../src/tools/runtime/tool.ts";
import { withFile } from "../../../src/tools/workspace/file-access.ts";
import { locate } from "../../../src/tools/workspace/workspace-path.ts";
import { harmfulCommand } from "./harmful-command.ts";
import { shellKey } from "./shell.ts";

/** A command as it would run: its words, and the character that requires a shell. Or why it is refused. */
export type CommandAnalysis =
  | { kind: "runs"; words: string[]; sign: string | null; isHarmless: boolean }
  | { kind: "refused"; reason: string };

/** Files whose content an approval is bound to: maximum number, number listed by name, and bytes of each. */
const [maxFiles, maxNamed, maxFileBytes] = [60, 6, 4 * 1024 * 1024];

/** Files that determine what a build program runs. */
const buildFiles: Readonly<Record<string, readonly string[]>> = {
  npm: ["package.json"],
  npx: ["package.json"],
  pnpm: ["package.json"],
  yarn: ["package.json"],
  bun: ["package.json"],
  make: ["GNUmakefile", "makefile", "Makefile"],
  just: ["justfile"],
  cargo: ["Cargo.toml"],
};

/** Analyses a command by its text alone. */
export function analyzeCommand(command: string): CommandAnalysis {
  const split = splitCommand(command);
  if (split.kind === "unreadable") return { kind: "refused", reason: split.problem };
  const harm = harmfulCommand(command, split.kind === "plain" ? split.words : undefined);
  if (harm !== undefined) return { kind: "refused", reason: harm };
  return split.kind === "plain"
    ? { kind: "runs", words: split.words, sign: null, isHarmless: isHarmless(split.words) }
    : { kind: "runs", words: ["/bin/sh", "-c", command], sign: split.sign, isHarmless: false };
}

/**
 * The operation for the user's question: the whole command, whether it needs a shell, whether it runs in a sandbox, and
 * hashes of the workspace files it names, so that an approval covers exactly these. Only read-only commands in a
 * sandbox need none.
 */
export async function operationOf(
  input: { command: string; requires_approval: boolean; background?: boolean | undefined },
  { workspace, toolkitServices, signal, repeated }: ToolContext,
): Promise<Operation> {
  const looked = analyzeCommand(input.command);
  // A refused command never runs, so it needs no approval.
  if (looked.kind === "refused") return { type: "Query" };
  const sandbox = await toolkitServices.find(shellKey)?.sandbox();
  if (looked.isHarmless && sandbox !== undefined && !input.requires_approval && input.background !== true)
    return { type: "Query" };
  const files = await filesOf(looked, input.command, { workspace, signal, repeated });
  return {
    type: "HighRiskOperation",
    what: inEnglish(input, looked.sign, sandbox, files),
    what_zh: inChinese(input, looked.sign, sandbox, files),
  };
}

function inEnglish(
  { command, background }: { command: string; background?: boolean | undefined },
  sign: string | null,
  sandbox: string | undefined,
  files: readonly string[],
): string {
  const parts = [
    `run the command ${command} in the workspace${background === true ? ", in the background" : ""}`,
    sign === null
      ? "without a shell"
      : `through a shell, which gives a meaning to its signs such as ${JSON.stringify(sign)}`,
    sandbox === undefined
      ? "without a sandbox, since this machine has none: it can do what the server's user can"
      : "in a sandbox without network, which can change only the workspace",
    "what it changes cannot be undone here",
  ];
  return [...parts, ...(files.length === 0 ? [] : [`files that it names: ${files.join(", ")}`])].join("; ");
}

function inChinese(
  { command, background }: { command: string; background?: boolean | undefined },
  sign: string | null,
  sandbox: string | undefined,
  files: readonly string[],
): string {
  const parts = [
    `在工作区${background === true ? "后台" : ""}运行命令 ${command}`,
    sign === null ? "不经过 shell" : `经由 shell 运行（其中的 ${JSON.stringify(sign)} 等符号会生效）`,
    sandbox === undefined ? "本机没有沙箱：它可以做服务器用户能做的一切" : "在沙箱中运行：无网络，只能改动工作区",
    "其改动无法在此撤销",
  ];
  return [...parts, ...(files.length === 0 ? [] : [`命令中的文件：${files.join("、")}`])].join("；");
}

/** The workspace files in a command, each with the start of its hash. */
async function filesOf(
  { words, sign }: { words: readonly string[]; sign: string | null },
  command: string,
  context: Pick<ToolContext, "workspace" | "signal" | "repeated">,
): Promise<string[]> {
  const texts = sign === null ? words : command.split(/[\s|&;<>()"'`=]+/u).filter((text) => text !== "");
  const named = [...texts.flatMap(buildFilesOf), ...texts];
  const found: string[] = [];
  for (const path of new Set(named.filter((text) => text !== "" && text.length < 500))) {
    if (found.length === maxFiles) break;
    const hash = await hashOf(path, context);
    if (hash !== undefined) found.push(`${path} (sha256 ${hash})`);
  }
  if (found.length <= maxNamed) return found;
  const rest = found.slice(maxNamed);
  const hash = createHash("sha256").update(rest.join("\n")).digest("hex").slice(0, 16);
  return [...found.slice(0, maxNamed), `${rest.length} more (sha256 of theirs ${hash})`];
}

function buildFilesOf(word: string): readonly string[] {
  const program = word.split("/").at(-1) ?? "";
  return Object.hasOwn(buildFiles, program) ? (buildFiles[program] ?? []) : [];
}

async function hashOf(
  path: string,
  context: Pick<ToolContext, "workspace" | "signal" | "repeated">,
): Promise<string | undefined> {
  try {
    const place = await locate(context.workspace, path);
    if (place.kind !== "file") return undefined;
    return await withFile(context, place, async (handle, stats) => {
      if (stats.size > maxFileBytes) return `of ${stats.size} bytes, ${stats.mtimeMs}`;
      return createHash("sha256")
        .update(await handle.readFile())
        .digest("hex")
        .slice(0, 16);
    });
  } catch (error) {
    if (expectedFailure(error) === undefined) throw error;
    return undefined;
  }
}

/** Programs that only read input and write to standard output, with any options. */
const readers = new Set(
  "ls cat head tail wc grep egrep fgrep stat du cut nl diff cmp sha256sum sha1sum md5sum cksum basename dirname echo printf pwd uname true false".split(
    " ",
  ),
);

/**
 * Whether a command of plain words only reads the workspace: only such commands may run without approval, and only in a
 * sandbox. Paths outside exclude it.
 */
export function isHarmless([program = "", ...given]: readonly string[]): boolean {
  return readers.has(program) && !given.some((word) => leadsOut(word));
}

function leadsOut(word: string): boolean {
  const value = word.startsWith("-") ? word.replace(/^-{1,2}[\w-]*=?/u, "") : word;
  return (
    /^[/~\\]|^[A-Za-z]:/u.test(value) ||
    value.split(/[/\\=:,]/u).includes("..") ||
    /=[/~]/u.test(word) ||
    /^-\w+\//u.test(word)
  );
}

/**
 * A parsed command: its words, run without a shell; the shell, because of special characters (`sign` is the first); or
 * unparsable.
 */
export type SplitCommand =
  | { kind: "plain"; words: string[] }
  | { kind: "shell"; sign: string }
  | { kind: "unreadable"; problem: string };

/** Shell metacharacters outside quotes. */
const shellSigns = new Set("|&;<>()$`*?[]{}\n");
/** Characters special to a shell at the start of a word. */
const openingSigns = new Set("~#!");
/** Invisible characters, or ones that reverse the visible text. */
const hidden = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]/u;

/**
 * Blanks, a quoted text (a double-quoted one up to its end or first special character), an escaped character, or one
 * character.
 */
const token = /[ \t]+|'[^']*'|"(?:[^"\\$`]|\\[^])*["$`]|\\[^]|[^]/gu;

/** A token's meaning: the end of a word, part of one, a shell character, or an unclosed quote. */
type Token = { kind: "blank" } | { kind: "text"; text: string } | { kind: "sign"; sign: string } | { kind: "open" };

/** Splits a command by the rules of POSIX quoting. Anything but plain words needs the shell. */
export function splitCommand(command: string): SplitCommand {
  if (hidden.test(command)) return { kind: "unreadable", problem: "it holds characters that cannot be seen" };
  const words: string[] = [];
  let word: string | undefined;
  for (const [piece] of command.trim().matchAll(token)) {
    const read = readToken(piece, word === undefined);
    if (read.kind === "sign") return { kind: "shell", sign: read.sign };
    if (read.kind === "open") return { kind: "unreadable", problem: `a quote ${piece} is not closed` };
    if (read.kind === "text") word = (word ?? "") + read.text;
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (word !== undefined) words.push(word);
  const [first] = words;
  if (first === undefined || first === "") return { kind: "unreadable", problem: "it names no program" };
  if (/^[A-Za-z_]\w*\+?=/u.test(first)) return { kind: "shell", sign: "=" };
  return { kind: "plain", words };
}

function readToken(piece: string, isStart: boolean): Token {
  const [first = ""] = piece;
  const last = piece.at(-1) ?? "";
  if (first === " " || first === "\t") return { kind: "blank" };
  if (first === "'" || first === '"') {
    if (piece.length === 1) return { kind: "open" };
    if (last !== first) return { kind: "sign", sign: last };
    const inside = piece.slice(1, -1);
    return { kind: "text", text: first === "'" ? inside : inside.replaceAll(/\\(["\\$`])/gu, "$1") };
  }
  if (first === "\\")
    return last === "\n" || piece.length === 1 ? { kind: "sign", sign: first } : { kind: "text", text: last };
  if (shellSigns.has(first) || (isStart && openingSigns.has(first))) return { kind: "sign", sign: first };
  return { kind: "text", text: piece };
}
