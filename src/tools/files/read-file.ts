import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { formatOf, isOldFormat, nameOf } from "../documents/document-format.ts";
import { readDocument } from "../documents/read-document.ts";
import { success, type ToolResult } from "../runtime/result.ts";
import { defineTool, type ToolContext } from "../runtime/tool.ts";
import { answerLimit, encodingOf, textLines } from "../workspace/text-lines.ts";
import { withFile } from "../workspace/file-access.ts";
import { fileSeconds, reading } from "../workspace/file-checks.ts";
import { locate, type Place } from "../workspace/workspace-path.ts";

/** Bytes up to which the lines of a file are counted to its end. */
const countedSize = 32 * 1024 * 1024;

const ReadFileInput = z.object({
  path: z.string().describe("path of the file, relative to the workspace"),
  start_line: z.number().int().min(1).optional().describe("first line to read, counted from 1; default 1"),
  end_line: z.number().int().min(1).optional().describe("last line to read; default the end of the file"),
});

/**
 * Reads a text file, the text of a document, or a range of its lines; the answer is the bare text, after a note when it
 * is not all of it or comes from something else.
 */
export const readFile = defineTool({
  name: "read_file",
  description:
    "Reads a text file of the workspace, whole or a range of lines, or the text of a document (.docx, .pdf, .odt, .rtf, .pptx, " +
    ".xlsx). A long file comes in parts: the first line of the answer then says which lines these are and with which " +
    "start_line to go on. Other binary files cannot be read.",
  schema: ReadFileInput,
  effect: "pure",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [reading(context.workspace, input.path)],
  run: (input, context) => read(input, context),
  example: { title: "Read the first 20 lines", body: '{"path": "src/main.ts", "start_line": 1, "end_line": 20}' },
  guideline: "Read a file before changing it.",
});

/** What was taken of a file: lines up to `last`, `total` counted in all if `isCounted`, and what is to be said of them. */
interface Part {
  text: string;
  last: number;
  total: number;
  isFull: boolean;
  isCut: boolean;
  isCounted: boolean;
  note: string;
}

async function read(input: z.infer<typeof ReadFileInput>, context: ToolContext): Promise<ToolResult> {
  const start = input.start_line ?? 1;
  const end = input.end_line ?? Number.POSITIVE_INFINITY;
  if (end < start) {
    throw new AppError("invalid_parameter", `end_line (${end}) is before start_line (${start}).`, {
      suggestion: "Give an end_line that is not smaller.",
    });
  }
  const place = await locate(context.workspace, input.path);
  const lines = { start, end };
  const part = (await ofDocument(context, place, lines)) ?? (await ofText(context, place, lines));
  if (start > 1 && part.last < start) {
    throw new AppError("invalid_parameter", `"${place.path}" has no line ${start}, its last one is ${part.total}.`, {
      suggestion: "Give a smaller start_line.",
    });
  }
  return present(place.path, start, part);
}

async function ofText(context: ToolContext, place: Place, lines: { start: number; end: number }): Promise<Part> {
  return withFile(context, place, async (handle, stats) => {
    const { label, name } = await encodingOf(handle);
    const taken = nothingYet(lines.start);
    if (label !== "utf-8") taken.note = `in ${name}; what is written back will be in UTF-8`;
    for await (const some of textLines(handle, place.path, context.signal, label)) {
      for (const line of some) take(taken, line, lines.start, lines.end);
      if ((taken.isFull || taken.total > lines.end) && stats.size > countedSize) return { ...taken, isCounted: false };
    }
    return taken;
  });
}

/** `undefined` for what is no document. */
async function ofDocument(
  context: ToolContext,
  place: Place,
  lines: { start: number; end: number },
): Promise<Part | undefined> {
  const format = formatOf(place.real);
  if (format === undefined && place.kind === "file" && isOldFormat(place.real)) throw oldFormat(place);
  if (format === undefined) return undefined;
  const { text, left_out } = await readDocument(context, place, format);
  const taken = nothingYet(lines.start);
  const without = left_out.length === 0 ? "" : `, without ${left_out.join(", ")}`;
  taken.note = `the text of ${nameOf(format)}${without}`;
  for (const line of text.match(/[^\n]*\n|[^\n]+$/gu) ?? []) take(taken, line, lines.start, lines.end);
  return taken;
}

function nothingYet(start: number): Part {
  return { text: "", last: start - 1, total: 0, isFull: false, isCut: false, isCounted: true, note: "" };
}

function oldFormat({ path }: Place): AppError {
  return new AppError("invalid_format", `"${path}" is of an older program, whose documents cannot be read.`, {
    suggestion: "Ask the user to save it as .docx, .xlsx, .pptx or .pdf.",
  });
}

function present(path: string, start: number, part: Part): ToolResult {
  const data = { path, start_line: start, end_line: part.last, total_lines: part.isCounted ? part.total : null };
  const isToEnd = part.isCounted && part.last === part.total;
  if (isToEnd && start === 1 && !part.isCut) {
    const text = part.text || "(empty file)";
    return success(`Read ${path} (${part.total} ${part.total === 1 ? "line" : "lines"}).`, {
      content: part.note === "" ? text : `[${path}: ${part.note}]\n${text}`,
      data,
    });
  }
  const range = `lines ${start}-${part.last} of ${part.isCounted ? part.total : "a large file"}`;
  const rest = isToEnd ? "" : `; go on with start_line ${part.last + 1}`;
  const cut = part.isCut ? `; line ${part.last} is longer than shown` : "";
  const note = part.note === "" ? "" : `; ${part.note}`;
  return success(`Read ${path}, ${range}.`, { content: `[${path}: ${range}${rest}${cut}${note}]\n${part.text}`, data });
}

/** Counts a line and takes it when it is in the range and there is room. */
function take(taken: Part, line: string, start: number, end: number): void {
  taken.total += 1;
  if (taken.isFull || taken.total < start || taken.total > end) return;
  const room = answerLimit - taken.text.length;
  if (line.length <= room) {
    taken.text += line;
    taken.last = taken.total;
    return;
  }
  taken.isFull = true;
  if (taken.text !== "") return;
  taken.text = `${line.slice(0, room)}\n`;
  taken.last = taken.total;
  taken.isCut = true;
}
