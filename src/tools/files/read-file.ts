import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { jsonSchemaOf } from "../runtime/parameters.ts";
import { success, type ToolResult } from "../runtime/result.ts";
import { defineTool, type ToolContext } from "../runtime/tool.ts";
import { unsavedText } from "../workspace/editor-text.ts";
import { encodingOf, textLines } from "../workspace/text-lines.ts";
import { withFile } from "../workspace/file-access.ts";
import { contentVersion } from "../workspace/seen-files.ts";
import { formatText } from "../workspace/file-formats.ts";
import { fileSeconds, reading } from "../workspace/file-checks.ts";
import { locate, type Place } from "../workspace/workspace-path.ts";

/** Bytes up to which all lines of a file are counted. */
const countedSize = 32 * 1024 * 1024;

/** Default characters of a result, and those reserved for the note above the text. */
const [defaultLength, noteLength] = [96_000, 400];
/** Characters of file text per result, without line numbers: two results hold 3,000 lines of usual width. */
const maxText = 80 * 1024;
/** Lines per result, and characters per line if there are several. */
const [maxLines, maxLineLength] = [2000, 2000];

const Offered = z.object({
  path: z.string().describe("path of the file, relative to the workspace"),
  offset: z.number().int().min(1).optional().describe("first line to read, counted from 1; default 1"),
  limit: z.number().int().min(1).max(maxLines).optional().describe(`how many lines; default ${maxLines}`),
});

/** `start_line` and `end_line` are the range's former names. The result suggests `character` when a line exceeds it. */
const ReadFileInput = Offered.extend({
  character: z.number().int().min(1).optional(),
  start_line: z.number().int().min(1).optional(),
  end_line: z.number().int().min(1).optional(),
});

/**
 * Reads a text file, a document's text, or a range of lines. Lines of text files are numbered; a note marks partial or
 * converted text.
 */
export const readFile = defineTool({
  name: "read_file",
  description:
    `Reads a text file of the workspace, up to ${maxLines} numbered lines at once (number, tab, text), or the text of a document ` +
    "(.docx, .pdf, .odt, .rtf, .pptx, .xlsx). Of a longer file the first line of the answer says which lines these are and " +
    "with which offset to go on. Other binary files cannot be read. Read the files that you need together in one reply.",
  schema: ReadFileInput,
  parameters: jsonSchemaOf(Offered),
  effect: "pure",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [reading(context.workspace, input.path)],
  run: (input, context) => read(input, context),
  example: { title: "Lines 100 to 139", body: '{"path": "src/main.ts", "offset": 100, "limit": 40}' },
  guideline: "Read a file before changing it.",
});

/** The requested lines, the available characters, and the format. */
interface Wanted {
  start: number;
  end: number;
  characters: number;
  isNumbered: boolean;
  /** Characters skipped in the first line. */
  skipped: number;
}

/** The part read: lines up to `last`; `total` is the number of lines if `isCounted`. */
interface Part {
  text: string;
  /** Characters that come from the file. */
  own: number;
  /** Numbers of lines cut short. */
  shortened: number[];
  last: number;
  total: number;
  isFull: boolean;
  isCut: boolean;
  /** Characters shown of the last line, if it is cut. */
  shown: number;
  isCounted: boolean;
  note: string;
  /** Its name, where it is not UTF-8. */
  encoding?: string;
}

async function read(input: z.infer<typeof ReadFileInput>, context: ToolContext): Promise<ToolResult> {
  const inEditor = await unsavedText(context, input.path);
  if (inEditor !== undefined) return readText(input.path, inEditor, input, context.resultLength);
  const wanted = wantedOf(input, context.resultLength);
  const place = await locate(context.workspace, input.path);
  const part =
    (await ofDocument(context, place, { ...wanted, isNumbered: false })) ?? (await ofText(context, place, wanted));
  requireLine(place.path, wanted, part);
  const isPart = part.isCut || wanted.skipped > 0;
  const version = isPart ? undefined : await contentVersion(context, place);
  return present(place.path, wanted, part, version);
}

/** Reads lines of a text that is not in a file: the document in the user's editor. */
export function readText(
  name: string,
  text: string,
  input: Omit<z.infer<typeof ReadFileInput>, "path">,
  resultLength: number | undefined,
): ToolResult {
  const wanted = wantedOf(input, resultLength);
  const part = nothingYet(wanted.start);
  part.note = "the text in the user's editor, not that of the file";
  for (const line of text.match(/[^\n]*\n|[^\n]+$/gu) ?? []) take(part, line, wanted);
  requireLine(name, wanted, part);
  return present(name, wanted, part, undefined);
}

function wantedOf(
  { offset, limit, start_line, end_line, character = 1 }: Omit<z.infer<typeof ReadFileInput>, "path">,
  resultLength = defaultLength,
): Wanted {
  const start = offset ?? start_line ?? 1;
  const end = Math.min(limit === undefined ? (end_line ?? Infinity) : start + limit - 1, start + maxLines - 1);
  if (end < start) {
    throw new AppError("invalid_parameter", `end_line (${end}) is before start_line (${start}).`, {
      suggestion: "Give an end_line that is not smaller.",
    });
  }
  return { start, end, characters: resultLength - noteLength, isNumbered: true, skipped: character - 1 };
}

function requireLine(path: string, { start }: Wanted, { last, total }: Part): void {
  if (start === 1 || last >= start) return;
  throw new AppError("invalid_parameter", `"${path}" has no line ${start}, its last one is ${total}.`, {
    suggestion: "Give a smaller offset.",
  });
}

async function ofText(context: ToolContext, place: Place, wanted: Wanted): Promise<Part> {
  return withFile(context, place, async (handle, stats) => {
    const { label, name } = await encodingOf(handle);
    const taken = nothingYet(wanted.start);
    if (label !== "utf-8") {
      taken.note = `in ${name}; what is written back will be in UTF-8`;
      taken.encoding = name;
    }
    for await (const some of textLines(handle, place.path, context.signal, label)) {
      for (const line of some) take(taken, line, wanted);
      if ((taken.isFull || taken.total > wanted.end) && stats.size > countedSize) return { ...taken, isCounted: false };
    }
    return taken;
  });
}

/** `undefined` for plain text. */
async function ofDocument(context: ToolContext, place: Place, wanted: Wanted): Promise<Part | undefined> {
  const found = await formatText(context, place);
  if (found === undefined) return undefined;
  const { text, title, left_out } = found;
  const taken = nothingYet(wanted.start);
  const without = left_out.length === 0 ? "" : `, without ${left_out.join(", ")}`;
  taken.note = `the text of ${title}${without}`;
  for (const line of text.match(/[^\n]*\n|[^\n]+$/gu) ?? []) take(taken, line, wanted);
  return taken;
}

function nothingYet(start: number): Part {
  return {
    text: "",
    own: 0,
    shortened: [],
    last: start - 1,
    total: 0,
    isFull: false,
    isCut: false,
    shown: 0,
    isCounted: true,
    note: "",
  };
}

function present(path: string, { start, skipped }: Wanted, part: Part, version: string | undefined): ToolResult {
  const { last, total, isCounted, isCut, shown, encoding } = part;
  const data = { path, start_line: start, end_line: last, total_lines: isCounted ? total : null };
  const isToEnd = isCounted && last === total;
  // A file shown in full may be overwritten later.
  const seen =
    version === undefined ? {} : { seen: { path, version, from: start, to: last, total: isCounted ? total : null } };
  const begin = skipped === 0 ? [] : [`from character ${skipped + 1} of line ${start}`];
  const notes = [...begin, ...shortenedNote(part.shortened), ...(part.note === "" ? [] : [part.note])];
  if (isToEnd && start === 1 && !isCut) {
    const text = part.text || "(empty file)";
    const content = notes.length === 0 ? text : `[${path}: ${notes.join("; ")}]\n${text}`;
    return {
      ...success(
        `Read ${path} (${total} ${total === 1 ? "line" : "lines"}${encoding === undefined ? "" : `, in ${encoding}`}).`,
        {
          content,
          data,
          message_zh: `已读取 ${path}（${total} 行${encoding === undefined ? "" : `，${encoding} 编码`}）。`,
        },
      ),
      ...seen,
    };
  }
  const range = `lines ${start}-${last} of ${isCounted ? total : "a large file"}`;
  const rest = isToEnd ? [] : [`go on with offset ${last + 1}`];
  const cut = isCut
    ? [`line ${last} is longer than shown: offset ${last} with character ${shown + 1} goes on in it`]
    : [];
  const content = `[${[`${path}: ${range}`, ...rest, ...cut, ...notes].join("; ")}]\n${part.text}`;
  const message_zh = `已读取 ${path} 第 ${start}–${last} 行。`;
  return { ...success(`Read ${path}, ${range}.`, { content, data, message_zh }), ...seen };
}

function shortenedNote(lines: readonly number[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length > 5 ? ` and ${lines.length - 5} more` : "";
  const named = `${lines.slice(0, 5).join(", ")}${more}`;
  return [
    `only the first ${maxLineLength} characters of line ${named} are shown: offset ${lines[0]} with limit 1 gives more`,
  ];
}

/** Counts a line, and adds it if it is in the range and fits. */
function take(taken: Part, whole: string, { start, end, characters, isNumbered, skipped }: Wanted): void {
  taken.total += 1;
  if (taken.isFull || taken.total < start || taken.total > end) return;
  const isShortened = isNumbered && end > start && whole.length > maxLineLength && skipped === 0;
  const from = taken.total === start ? skipped : 0;
  const number = isNumbered ? `${taken.total}\t` : "";
  const line = number + (isShortened ? `${whole.slice(0, maxLineLength)}…\n` : whole.slice(from));
  const own = line.length - number.length;
  const room = Math.min(characters - taken.text.length, maxText - taken.own + number.length);
  if (line.length <= room) {
    taken.text += line;
    taken.own += own;
    taken.last = taken.total;
    if (isShortened) taken.shortened.push(taken.total);
    return;
  }
  taken.isFull = true;
  if (taken.text !== "") return;
  taken.text = `${line.slice(0, room)}\n`;
  taken.last = taken.total;
  taken.isCut = true;
  taken.shown = from + room - number.length;
}
