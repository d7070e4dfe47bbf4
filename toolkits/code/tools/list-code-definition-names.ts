import { z } from "zod";
import { AppError, hasCode, isAppError } from "@millrace/engine/errors/errors";
import { yieldingCheck } from "@millrace/engine/concurrency/abort";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool, type ToolContext } from "../../../src/tools/runtime/tool.ts";
import { answerLimit, fittingLines, wholeText } from "../../../src/tools/workspace/text-lines.ts";
import { fileSeconds, reading } from "../../../src/tools/workspace/file-checks.ts";
import { notFound } from "../../../src/tools/workspace/file-access.ts";
import { walk } from "../../../src/tools/workspace/walk.ts";
import { locate, type Place } from "../../../src/tools/workspace/workspace-path.ts";
import { type Language, languages } from "./definition-patterns.ts";

/** Definitions collected before the search ends: more than an answer shows. */
const maxDefinitions = 2000;

const ListInput = z.object({
  path: z
    .string()
    .optional()
    .describe("source file, or folder with all below it, relative to the workspace; default the workspace itself"),
});

/** The definitions of one file. */
interface FileDefinitions {
  path: string;
  definitions: Definition[];
}

/** Lists classes, functions and the like of source files with name and line. */
export const listCodeDefinitionNames = defineTool({
  name: "list_code_definition_names",
  description:
    "Lists the definitions (classes, functions, methods, types) of a source file, or of all source files of a folder, with " +
    "their lines: an overview before reading. TypeScript, JavaScript, Python, Java, C#, Kotlin, Go, Rust, C, C++, Ruby, PHP, " +
    "Swift, Scala, Lua, shell, SQL and SPICE. They are found by how their lines begin, so a rare spelling may be missed.",
  schema: ListInput,
  files: Object.keys(languages),
  effect: "pure",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [reading(context.workspace, input.path ?? ".")],
  run: (input, context) => list(input.path ?? ".", context),
  example: { title: "What a folder defines", body: '{"path": "src"}' },
});

async function list(path: string, context: ToolContext): Promise<ToolResult> {
  const start = await locate(context.workspace, path.trim() || ".");
  if (start.kind === "missing") throw await notFound(context.workspace, start);
  const files = start.kind === "folder" ? await ofFolder(start, context) : [await ofFile(start, context)];
  const found = files.filter(({ definitions }) => definitions.length > 0);
  const count = found.reduce((sum, { definitions }) => sum + definitions.length, 0);
  const data = { files: found, complete: count < maxDefinitions };
  if (count === 0) {
    const content = `No definitions were found in ${start.path}. search_content finds other text.`;
    return success(`No definitions in ${start.path}.`, {
      content,
      data,
      message_zh: `${start.path} 中没有找到定义。`,
    });
  }
  const lines = found.flatMap(({ path: file, definitions }) => [file, ...definitions.map(lineOf)]);
  const { text, shown } = fittingLines(lines, answerLimit - 200);
  const isCut = shown < lines.length || count >= maxDefinitions;
  const rest = isCut ? "\n[more definitions are not shown; name a file or a smaller folder]" : "";
  const isMore = count >= maxDefinitions;
  const [definitions, inFiles] = [count === 1 ? "definition" : "definitions", found.length === 1 ? "file" : "files"];
  return success(`${count}${isMore ? " or more" : ""} ${definitions} in ${found.length} ${inFiles}.`, {
    content: `${text}${rest}`,
    data,
    message_zh: `${found.length} 个文件中有 ${count} 处${isMore ? "以上" : ""}定义。`,
  });
}

function lineOf({ line, indent, kind, name }: Definition): string {
  return `${line}:${" ".repeat(1 + Math.min(indent, 8))}${kind} ${name}`;
}

async function ofFile(place: Place, context: ToolContext): Promise<FileDefinitions> {
  const language = languageOf(place.path);
  if (place.kind === "file" && language === undefined) {
    throw new AppError("invalid_format", `"${place.path}" is in no language that is known here.`, {
      suggestion: `Known endings: ${Object.keys(languages).join(", ")}. read_file and search_content take any text.`,
    });
  }
  const text = await wholeText(context, place);
  return {
    path: place.path,
    definitions: language === undefined ? [] : await definitionsOf(text, language, yieldingCheck(context.signal)),
  };
}

async function ofFolder(start: Place, context: ToolContext): Promise<FileDefinitions[]> {
  const files: FileDefinitions[] = [];
  const breathe = yieldingCheck(context.signal);
  let count = 0;
  for await (const entry of walk(context, start)) {
    await breathe();
    if (entry.kind !== "file" || languageOf(entry.path) === undefined) continue;
    const place: Place = { path: entry.path, real: entry.real, kind: "file", existing: start.real, missing: [] };
    const file = await unlessUnusable(() => ofFile(place, context));
    if (file === undefined) continue;
    files.push(file);
    count += file.definitions.length;
    if (count >= maxDefinitions) break;
  }
  return files;
}

/** `undefined` for a file that is binary, too large, or deleted since the walk; the others are still listed. */
async function unlessUnusable(work: () => Promise<FileDefinitions>): Promise<FileDefinitions | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isAppError(error) || hasCode(error, "ENOENT", "ELOOP", "EACCES", "EPERM", "ENXIO", "ENOTDIR")) return undefined;
    throw error;
  }
}

function languageOf(path: string): Language | undefined {
  const ending = /\.([A-Za-z]+)$/u.exec(path)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(languages, ending) ? languages[ending] : undefined;
}

/** A definition in a source file: its line from 1, its indentation, and its kind. */
export interface Definition {
  line: number;
  indent: number;
  kind: string;
  name: string;
}

/** Characters examined per line. */
const maxLineLength = 300;

/**
 * The definitions of a source text, found by the beginnings of its lines, not by a parser: long strings and comments are
 * skipped, and unusual formatting may hide a definition. `breathe` yields to the event loop between lines.
 */
export async function definitionsOf(
  text: string,
  language: Language,
  breathe: () => Promise<void> | undefined,
): Promise<Definition[]> {
  const found: Definition[] = [];
  let open: string | null = null;
  for (const [index, whole] of text.split("\n").entries()) {
    const pause = breathe();
    if (pause !== undefined) await pause;
    const line = whole.slice(0, maxLineLength).trimEnd();
    if (open !== null) {
      const end = line.indexOf(open);
      if (end === -1) continue;
      open = stillOpen(line.slice(end + open.length), language);
      continue;
    }
    if (line === "" || language.lineComment?.test(line) === true) continue;
    const definition = definitionIn(line, language);
    if (definition !== undefined) found.push({ line: index + 1, indent: indentOf(line), ...definition });
    open = stillOpen(line, language);
  }
  return found;
}

function definitionIn(line: string, language: Language): { kind: string; name: string } | undefined {
  for (const { kind, pattern } of language.definitions) {
    const name = pattern.exec(line)?.groups?.["name"]?.trim();
    if (name !== undefined && name !== "") return { kind, name };
  }
  return undefined;
}

/** The end of the span that a line leaves open; `null` if none. */
function stillOpen(line: string, { spans, lineComment }: Language): string | null {
  let rest = line;
  for (;;) {
    const next = spans
      .map((span) => ({ span, at: rest.indexOf(span.begin) }))
      .filter(({ at }) => at !== -1)
      .toSorted((one, other) => one.at - other.at)[0];
    if (next === undefined || isInComment(rest.slice(0, next.at), lineComment)) return null;
    const inside = rest.slice(next.at + next.span.begin.length);
    const end = inside.indexOf(next.span.end);
    if (end === -1) return next.span.end;
    rest = inside.slice(end + next.span.end.length);
  }
}

/** Whether a line comment starts before a span does, as in `// see /*`; after a quote it may be part of a string. */
function isInComment(before: string, lineComment: RegExp | null): boolean {
  if (lineComment === null) return false;
  return lineComment.test(before) || /\s\/\/|["'`][^"'`]*$/u.test(before);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
