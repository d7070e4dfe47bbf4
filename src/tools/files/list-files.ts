import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { success } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";
import { answerLimit, fittingLines } from "../workspace/text-lines.ts";
import { fileSeconds, reading } from "../workspace/file-checks.ts";
import { notFound } from "../workspace/file-access.ts";
import { walk } from "../workspace/walk.ts";
import { locate } from "../workspace/workspace-path.ts";

/** Entries returned, and entries counted. */
const [givenEntries, countedEntries] = [1000, 20_000];

/** Lists a folder recursively, the top levels first if there is too much. */
export const listFiles = defineTool({
  name: "list_files",
  description:
    "Lists the files and folders below a folder of the workspace (default: the whole workspace), one path a line; " +
    "folders end with /, links with @. The insides of .git and node_modules are left out.",
  schema: z.object({
    path: z.string().optional().describe("folder, relative to the workspace; default the workspace itself"),
  }),
  files: [],
  effect: "pure",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [reading(context.workspace, input.path ?? ".")],
  run: async (input, context) => {
    const place = await locate(context.workspace, input.path?.trim() || ".");
    if (place.kind === "missing") throw await notFound(context.workspace, place);
    if (place.kind !== "folder") {
      throw new AppError("invalid_parameter", `"${place.path}" is not a folder.`, {
        suggestion: "Use read_file to read a file.",
      });
    }
    const marks = { file: "", folder: "/", link: "@", other: "", unreadable: "/ (cannot be opened)" };
    const entries: string[] = [];
    let total = 0;
    for await (const entry of walk(context, place)) {
      total += 1;
      if (entries.length < givenEntries) entries.push(entry.path + marks[entry.kind]);
      if (total >= countedEntries) break;
    }
    const data = { path: place.path, entries, total };
    if (total === 0)
      return success(`${place.path === "." ? "The workspace" : place.path} is empty.`, {
        data,
        message_zh: `${place.path === "." ? "工作区" : place.path} 是空的。`,
      });
    const { shown } = fittingLines(entries, answerLimit - 200);
    const text = entries.slice(0, shown).toSorted(inTreeOrder).join("\n");
    const more = total >= countedEntries ? `more than ${total - shown}` : String(total - shown);
    const note = shown === total ? "" : `\n[${more} further entries are not shown; list a folder by its path]`;
    return success(`${total} ${total === 1 ? "entry" : "entries"} in ${place.path}.`, {
      content: text + note,
      data,
      message_zh: `${place.path === "." ? "工作区" : place.path} 中有 ${total} 项。`,
    });
  },
  example: { title: "One folder", body: '{"path": "src"}' },
});

/** Folders come before their contents. */
function inTreeOrder(one: string, other: string): number {
  const [left, right] = [one.replaceAll("/", "\0"), other.replaceAll("/", "\0")];
  return left < right ? -1 : left > right ? 1 : 0;
}
