import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { success } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";
import { answerLimit, fittingLines } from "../workspace/text-lines.ts";
import { toGlob } from "@millrace/engine/glob";
import { fileSeconds, reading } from "../workspace/file-checks.ts";
import { walk } from "../workspace/walk.ts";
import { locate } from "../workspace/workspace-path.ts";

/** Results returned. */
const givenHits = 500;

/** Finds files and folders by a part of their name or path, or by a pattern. */
export const searchFiles = defineTool({
  name: "search_files",
  description:
    "Finds files and folders of the workspace whose name or path contains the query (case does not count), or matches " +
    "it when it is a pattern such as *.md or src/**/*.ts. Use search_content to look inside files.",
  schema: z.object({ query: z.string().max(200).describe("a part of the name or path, or a pattern with * and ?") }),
  effect: "pure",
  timeoutSeconds: fileSeconds,
  resources: (_, context) => [reading(context.workspace, ".")],
  run: async (input, context) => {
    const query = input.query.trim().normalize("NFC");
    if (query === "") {
      throw new AppError("invalid_parameter", "The query is empty.", {
        suggestion: "Use list_files to see everything.",
      });
    }
    const matches = /[*?{[]/.test(query) ? toGlob(query) : containing(query);
    const hits: string[] = [];
    let total = 0;
    for await (const entry of walk(context, await locate(context.workspace, "."))) {
      if (entry.kind === "unreadable" || !matches(entry.path.normalize("NFC"))) continue;
      total += 1;
      if (hits.length < givenHits) hits.push(entry.kind === "folder" ? `${entry.path}/` : entry.path);
    }
    const data = { query, hits, total };
    if (total === 0) {
      const content = `No file or folder has "${query}" in its name or path. Try a shorter part of the name.`;
      return success(`Nothing found for "${query}".`, { content, data, message_zh: `没有找到“${query}”。` });
    }
    const { text, shown } = fittingLines(hits, answerLimit - 200);
    const note = shown === total ? "" : `\n[${total - shown} further hits are not shown; use a longer query]`;
    return success(`${total} found for "${query}".`, {
      content: text + note,
      data,
      message_zh: `找到 ${total} 个与“${query}”相符的项。`,
    });
  },
  example: { title: "By a part of the name", body: '{"query": "report"}' },
});

function containing(query: string): (path: string) => boolean {
  const wanted = query.toLowerCase();
  return (path) => path.toLowerCase().includes(wanted);
}
