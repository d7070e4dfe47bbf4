import { createHash } from "node:crypto";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { expectedFailure, success, type ToolResult } from "../runtime/result.ts";
import { defineTool, type Reconciled, type ToolContext } from "../runtime/tool.ts";
import { replaceFile } from "../workspace/file-access.ts";
import { changesPath } from "../workspace/file-checks.ts";
import { reconcileWrite } from "../workspace/reconcile.ts";
import { editOperation } from "../workspace/seen-files.ts";
import { wholeText } from "../workspace/text-lines.ts";
import { locate, parsePath } from "../workspace/workspace-path.ts";
import { nearestText } from "./nearest-text.ts";

const Edit = z.object({
  old_string: z
    .string()
    .min(1)
    .describe("the text to replace, exact to the blank, without line numbers; unique in the file"),
  new_string: z.string().describe("the text in its place; empty to delete"),
  replace_all: z.boolean().optional().describe("replace every occurrence; default false"),
});
type Edit = z.infer<typeof Edit>;

const EditInput = z.object({
  path: z.string().describe("path of the file, relative to the workspace"),
  edits: z
    .array(Edit)
    .min(1)
    .max(100)
    .describe("one or more replacements, each made in what the one before it has left"),
});
type EditInput = z.infer<typeof EditInput>;

/** Replaces parts of a text file: all of the edits, or nothing. */
export const editFile = defineTool({
  name: "edit_file",
  description:
    "Changes parts of a text file by search and replace, several at once: all of them, or nothing. Each old_string has to stand " +
    "in the file exactly once (take in the lines around it), unless replace_all is set. When one is not found, the answer shows " +
    "the nearest text.",
  schema: EditInput,
  ...changesPath("follow"),
  kinds: ["SimpleModify", "IrreversibleOperation", "ModifyCriticalFile"],
  operation: (input, context) => editOperation(input.path, context, () => textAfter(input, context)),
  run: (input, context) => edit(input, context),
  textAfter,
  reconcile,
  example: {
    title: "Another limit",
    body: '{"path": "src/limits.ts", "edits": [{"old_string": "const most = 5;", "new_string": "const most = 10;"}]}',
  },
  guideline: "Read the lines that you change first, and copy old_string from them.",
});

async function textAfter({ path, edits }: EditInput, context: ToolContext): Promise<string> {
  return applied(await wholeText(context, await locate(context.workspace, path)), edits).text;
}

async function edit({ path, edits }: EditInput, context: ToolContext): Promise<ToolResult> {
  const place = await locate(context.workspace, path);
  const before = await wholeText(context, place);
  const { text, count } = applied(before, edits);
  if (text === before)
    return success(`The edits leave ${place.path} as it is.`, {
      data: { path: place.path, replaced: 0 },
      message_zh: `${place.path} 没有变化。`,
    });
  await replaceFile(context, place, text);
  return edited(place.path, count);
}

function edited(path: string, count: number): ToolResult {
  return success(`Changed ${path} (${count} ${count === 1 ? "place" : "places"}).`, {
    data: { path, replaced: count },
    message_zh: `已修改 ${path}（${count} 处）。`,
  });
}

/** The text after all edits, and how many places they have changed. Throws `invalid_parameter` that names the edit. */
function applied(before: string, edits: readonly Edit[]): { text: string; count: number } {
  // Models write \n; a file that ends its lines otherwise keeps its ends.
  const isWindows = before.includes("\r\n") && !/(?<!\r)\n/u.test(before);
  const inFile = (part: string): string => (isWindows ? part.replaceAll(/\r?\n/gu, "\r\n") : part);
  let text = before;
  let count = 0;
  for (const [index, { old_string, new_string, replace_all }] of edits.entries()) {
    const [old, put] = [inFile(old_string), inFile(new_string)];
    const places = text.split(old).length - 1;
    if (places === 0) throw notFound(text, old, index + 1);
    if (places > 1 && replace_all !== true) throw notUnique(text, old, places, index + 1);
    text = text.replaceAll(old, () => put);
    count += places;
  }
  return { text, count };
}

function notFound(text: string, old: string, number: number): AppError {
  const near = nearestText(text.split(/\r?\n/u), old.split(/\r?\n/u));
  return new AppError(
    "invalid_parameter",
    `Edit ${number}: its old_string is not in the file, and nothing was changed.${near === undefined ? "" : `\n${near}`}`,
    { suggestion: "Read the lines and copy old_string from them, with their blanks and without their numbers." },
  );
}

/** Lines of further places that an answer names. */
const mostNamed = 5;

function notUnique(text: string, old: string, places: number, number: number): AppError {
  const lines: number[] = [];
  for (let at = text.indexOf(old); at !== -1 && lines.length < mostNamed; at = text.indexOf(old, at + old.length)) {
    lines.push(text.slice(0, at).split("\n").length);
  }
  const more = places > lines.length ? ` and ${places - lines.length} more` : "";
  return new AppError(
    "invalid_parameter",
    `Edit ${number}: its old_string stands in the file ${places} times (line ${lines.join(", ")}${more}), and nothing was changed.`,
    { suggestion: "Take in lines around the place that is meant, or set replace_all to change them all." },
  );
}

/** The change has happened when the content of before, kept for undo, gives exactly the present one. */
async function reconcile({ path, edits }: EditInput, context: ToolContext): Promise<Reconciled> {
  const back = await takenBack(path, edits, context);
  return reconcileWrite(
    context,
    { path, lastLink: "follow" },
    {
      isDone: ({ before }) => back !== undefined && before?.kind === "file" && before.hash === back.hash,
      result: () => edited(parsePath(path).join("/"), back?.count ?? 0),
    },
  );
}

/** The hash of the content that the edits have been made in, where they can be taken back without doubt. */
async function takenBack(
  path: string,
  edits: readonly Edit[],
  context: ToolContext,
): Promise<{ hash: string; count: number } | undefined> {
  const swapped = edits.toReversed().map(({ old_string, new_string, replace_all }) => ({
    old_string: new_string,
    new_string: old_string,
    replace_all,
  }));
  if (swapped.some(({ old_string }) => old_string === "")) return undefined;
  try {
    const { text, count } = applied(await wholeText(context, await locate(context.workspace, path)), swapped);
    return { hash: createHash("sha256").update(text).digest("hex"), count };
  } catch (error) {
    if (expectedFailure(error) === undefined) throw error;
    return undefined;
  }
}
