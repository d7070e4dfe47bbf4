import { z } from "zod";
import { AppError } from "../../errors.ts";
import { answering, success } from "../result.ts";
import { defineTool, type ToolContext, type ToolResult } from "../tool.ts";
import { answerLimit } from "./bounded-text.ts";
import { withFile } from "./file-access.ts";
import { fileSeconds, reading } from "./looking.ts";
import { textLines } from "./text-lines.ts";
import { locate } from "./workspace-path.ts";

/** Bytes up to which the lines of a file are counted to its end. */
const countedSize = 32 * 1024 * 1024;

const ReadFileInput = z.object({
  path: z.string().describe("path of the file, relative to the workspace"),
  start_line: z.number().int().min(1).optional().describe("first line to read, counted from 1; default 1"),
  end_line: z.number().int().min(1).optional().describe("last line to read; default the end of the file"),
});

/** Reads a text file or a range of its lines; the answer is the bare text, after a note when it is not all of it. */
export const readFile = defineTool({
  name: "read_file",
  description:
    "Reads a text file of the workspace, whole or a range of lines. A long file comes in parts: the first line of the " +
    "answer then says which lines these are and with which start_line to go on. Binary files cannot be read.",
  schema: ReadFileInput,
  effect: "pure",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [reading(context.workspace, input.path)],
  kinds: ["Query"],
  operation: async () => ({ type: "Query" }),
  run: (input, context) => answering(() => read(input, context)),
  example: { title: "Read the first 20 lines", body: '{"path": "src/main.ts", "start_line": 1, "end_line": 20}' },
  guideline: "Read a file before changing it.",
});

/** What was taken of a file: lines up to `last`, `total` counted in all if `isCounted`. */
interface Part {
  text: string;
  last: number;
  total: number;
  isFull: boolean;
  isCut: boolean;
  isCounted: boolean;
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
  const part = await withFile(context, place, async (handle, stats) => {
    const taken: Part = { text: "", last: start - 1, total: 0, isFull: false, isCut: false, isCounted: true };
    for await (const lines of textLines(handle, place.path, context.signal)) {
      for (const line of lines) take(taken, line, start, end);
      if ((taken.isFull || taken.total > end) && stats.size > countedSize) return { ...taken, isCounted: false };
    }
    return taken;
  });
  if (start > 1 && part.last < start) {
    throw new AppError("invalid_parameter", `"${place.path}" has no line ${start}, its last one is ${part.total}.`, {
      suggestion: "Give a smaller start_line.",
    });
  }
  return present(place.path, start, part);
}

function present(path: string, start: number, part: Part): ToolResult {
  const data = { path, start_line: start, end_line: part.last, total_lines: part.isCounted ? part.total : null };
  const isToEnd = part.isCounted && part.last === part.total;
  if (isToEnd && start === 1 && !part.isCut) {
    return success(`Read ${path} (${part.total} ${part.total === 1 ? "line" : "lines"}).`, {
      content: part.text || "(empty file)",
      data,
    });
  }
  const range = `lines ${start}-${part.last} of ${part.isCounted ? part.total : "a large file"}`;
  const rest = isToEnd ? "" : `; go on with start_line ${part.last + 1}`;
  const cut = part.isCut ? `; line ${part.last} is longer than shown` : "";
  return success(`Read ${path}, ${range}.`, { content: `[${path}: ${range}${rest}${cut}]\n${part.text}`, data });
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
