import { RE2JS } from "re2js";
import { z } from "zod";
import { AppError, errorMessage, hasCode, isAppError } from "@millrace/engine/errors/errors";
import { success, type ToolResult } from "../runtime/result.ts";
import { defineTool, type ToolContext } from "../runtime/tool.ts";
import { answerLimit, textLines } from "../workspace/text-lines.ts";
import { yieldingCheck } from "@millrace/engine/concurrency/abort";
import { notFound, withFile } from "../workspace/file-access.ts";
import { toGlob } from "@millrace/engine/glob";
import { fileSeconds, reading } from "../workspace/file-checks.ts";
import { ripgrepPath, searchPlaces, type SearchPlaces } from "../workspace/ripgrep.ts";
import { locate, type Place } from "../workspace/workspace-path.ts";

/** Limits: bytes of a searched file, matches returned, characters searched and shown per line. */
const [maxFileSize, givenMatches, searchedLength, shownLength] = [8 * 1024 * 1024, 200, 10_000, 300];

/** An expression without special characters. */
const literal = /^[\p{L}\p{N} _,;:'"<>=!@#%&/~`-]+$/u;

const SearchContentInput = z.object({
  path: z
    .string()
    .optional()
    .describe("file or folder to search, relative to the workspace; default the workspace itself"),
  regex: z
    .string()
    .min(1)
    .max(1000)
    .describe("regular expression in RE2 syntax, tried on each line; (?i) at the start ignores case"),
  file_pattern: z.string().max(200).optional().describe("only files that match, such as *.ts or src/**/*.md"),
  context_lines: z.number().int().min(0).max(10).optional().describe("lines shown around each match; default 2"),
});

/** One line of a file, and whether it matched. */
interface Line {
  number: number;
  text: string;
  isMatch: boolean;
}

/** Searches the lines of text files by a regular expression that runs in linear time. */
export const searchContent = defineTool({
  name: "search_content",
  description:
    "Searches the text files of the workspace line by line with a regular expression (RE2: no lookaround, no " +
    "backreferences) and shows each match with lines around it: 12: is a match, 11- is not. Binary files and those over " +
    "8 MB are skipped.",
  schema: SearchContentInput,
  effect: "pure",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [reading(context.workspace, input.path ?? ".")],
  run: (input, context) => search(input, context),
  example: {
    title: "Where a function is used",
    body: '{"path": "src", "regex": "loadConfig\\\\(", "file_pattern": "*.ts"}',
  },
});

/** Results so far; `length` is the sections' total characters. */
interface Findings {
  sections: string[];
  matches: { path: string; line: number; text: string }[];
  length: number;
  skipped: number;
  /** Only files with a match were opened, so the number of skipped files is unknown. */
  isNarrowed: boolean;
}

async function search(input: z.infer<typeof SearchContentInput>, context: ToolContext): Promise<ToolResult> {
  const matches = compile(input.regex);
  const isWanted = input.file_pattern === undefined ? () => true : toGlob(input.file_pattern);
  const start = await locate(context.workspace, input.path?.trim() || ".");
  if (start.kind === "missing") throw await notFound(context.workspace, start);
  const found: Findings = { sections: [], matches: [], length: 0, skipped: 0, isNarrowed: false };
  for await (const place of await placesFrom(start, input.regex, context, found)) {
    if (!isWanted(place.path)) continue;
    const lines = await searchFile(context, place, matches, input.context_lines ?? 2, place === start);
    addMatches(found, place.path, lines);
    if (isEnough(found)) break;
  }
  return answer(input.regex, found);
}

function addMatches(found: Findings, path: string, lines: Line[] | undefined): void {
  if (lines === undefined) found.skipped += 1;
  if (lines === undefined || lines.length === 0) return;
  const hits = lines.filter((line) => line.isMatch);
  found.matches.push(...hits.map((line) => ({ path, line: line.number, text: line.text })));
  const section = toSection(path, lines);
  found.sections.push(section);
  found.length += section.length;
}

function isEnough(found: Findings): boolean {
  return found.matches.length >= givenMatches || found.length > 10 * answerLimit;
}

function answer(regex: string, found: Findings): ToolResult {
  const isStopped = isEnough(found);
  const data = { matches: found.matches, skipped_files: found.isNarrowed ? null : found.skipped, complete: !isStopped };
  if (found.matches.length === 0) {
    const skipped = found.skipped === 0 ? "" : ` ${found.skipped} binary or very large files were skipped.`;
    const content = `No line matches ${regex}.${skipped} Try a shorter expression, or (?i) to ignore case.`;
    return success(`No match for ${regex}.`, { content, data, message_zh: `没有匹配 ${regex} 的内容。` });
  }
  const text = found.sections.join("\n\n");
  const limit = answerLimit - 200;
  const shown = text.length <= limit ? text : text.slice(0, Math.max(text.lastIndexOf("\n", limit), 0));
  const isCut = isStopped || shown.length < text.length;
  const end = isCut ? "\n[more matches are not shown; narrow the path, the file_pattern or the expression]" : "";
  const noun = found.matches.length === 1 ? "match" : "matches";
  const count = `${found.matches.length}${isStopped ? " or more" : ""} ${noun} for ${regex}.`;
  return success(count, {
    content: `${shown}${end}`,
    data,
    message_zh: `${regex} 匹配 ${found.matches.length} 处${isStopped ? "以上" : ""}。`,
  });
}

/**
 * Literal expressions are searched natively, others by RE2, whose time is linear in the line but grows with the
 * expression (at worst 60 ns per character and instruction): large expressions see less of very long lines.
 */
function compile(regex: string): (text: string) => boolean {
  if (literal.test(regex)) return (text) => text.includes(regex);
  try {
    const compiled = RE2JS.compile(regex);
    const length = Math.min(searchedLength, Math.ceil(600_000 / compiled.programSize()));
    return (text) => compiled.test(text.slice(0, length));
  } catch (error) {
    throw new AppError("invalid_parameter", `The regex ${regex} is not valid: ${errorMessage(error)}.`, {
      suggestion: "Use RE2 syntax: no lookaround, no backreferences, repeats up to 1000.",
    });
  }
}

/** The files to search: the named one, or those of a folder, narrowed by ripgrep if available. */
async function placesFrom(
  start: Place,
  regex: string,
  context: ToolContext,
  found: Findings,
): Promise<SearchPlaces["places"]> {
  if (start.kind !== "folder") return [start];
  const wanted = { regex, isLiteral: literal.test(regex), maxFileBytes: maxFileSize };
  const { places, isNarrowed } = await searchPlaces(context, start, wanted, await ripgrepPath());
  found.isNarrowed = isNarrowed;
  return places;
}

/**
 * A file's matching lines with context; `undefined` if it is not searchable text. For a file named by the call that is
 * an error.
 */
async function searchFile(
  context: ToolContext,
  place: Place,
  matches: (text: string) => boolean,
  around: number,
  isNamed: boolean,
): Promise<Line[] | undefined> {
  try {
    return await withFile(context, place, async (handle, stats) => {
      if (stats.size > maxFileSize) throw tooLarge(place.path, stats.size);
      const kept: Line[] = [];
      const before: Line[] = [];
      const breathe = yieldingCheck(context.signal);
      let [number, wantedAfter, hits] = [0, 0, 0];
      for await (const lines of textLines(handle, place.path, context.signal)) {
        for (const line of lines) {
          await breathe();
          number += 1;
          const isMatch = hits < givenMatches && matches(line.replace(/\r?\n$/, ""));
          const text = line.slice(0, shownLength).trimEnd();
          if (isMatch) {
            hits += 1;
            kept.push(...before.splice(0), { number, text, isMatch });
            wantedAfter = around;
          } else if (wantedAfter > 0) {
            wantedAfter -= 1;
            kept.push({ number, text, isMatch });
          } else {
            before.push({ number, text, isMatch });
            if (before.length > around) before.shift();
          }
        }
      }
      return kept;
    });
  } catch (error) {
    // Not text, or removed or replaced during the search: skipped.
    const isSkipped =
      !isNamed && (isAppError(error) || hasCode(error, "ENOENT", "ELOOP", "EACCES", "EPERM", "ENXIO", "ENOTDIR"));
    if (isSkipped) return undefined;
    throw error;
  }
}

function tooLarge(path: string, size: number): AppError {
  return new AppError("too_large", `"${path}" has ${size} bytes; at most ${maxFileSize} are searched.`, {
    suggestion: "Read it in parts with read_file.",
  });
}

function toSection(path: string, lines: Line[]): string {
  const rows = lines.flatMap((line, index) => {
    const previous = lines[index - 1];
    const gap = previous && previous.number + 1 < line.number ? ["--"] : [];
    return [...gap, `${line.number}${line.isMatch ? ":" : "-"} ${line.text}`];
  });
  return [path, ...rows].join("\n");
}
