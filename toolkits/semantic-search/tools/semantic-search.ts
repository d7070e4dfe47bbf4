import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { answerLimit } from "../../../src/tools/workspace/text-lines.ts";
import { type SearchResult, workspaceIndexKey } from "../workspace-index/workspace-index.ts";

/** Number of pieces returned: default and maximum. */
const [defaultHits, maxHits] = [8, 20];

/** Finds pieces of files by meaning, even in different words. */
export const semanticSearch = defineTool({
  name: "semantic_search",
  description:
    "Finds the pieces of the workspace's text files that are nearest in meaning to a query, with file, lines and a score up to 1. " +
    "Use it where you do not know the words that stand there, such as where something is done or decided; search_content " +
    "finds exact words. The first search takes longer, since the files are embedded.",
  schema: z.object({
    query: z.string().trim().min(1).max(2000).describe("what is looked for, as a sentence or a question"),
    path: z.string().optional().describe("file or folder to search, relative to the workspace; default all of it"),
    limit: z.number().int().min(1).max(maxHits).optional().describe(`pieces that are given; default ${defaultHits}`),
  }),
  effect: "pure",
  // No lock: embedding is slow, and files changed meanwhile are reread by the next search.
  timeoutSeconds: 120,
  run: async ({ query, path, limit = defaultHits }, context) => {
    const index = context.toolkitServices.find(workspaceIndexKey);
    if (index === undefined || !index.isOn()) {
      throw new AppError("config", "No model makes vectors on this server, so nothing is found by meaning.", {
        suggestion: "Use search_content. The operator names such a model with MILLRACE_EMBEDDING_MODEL.",
      });
    }
    return answer(query, await index.search({ query, path: path?.trim() || ".", limit }, context));
  },
  example: { title: "By meaning", body: '{"query": "where are passwords checked", "path": "src"}' },
});

function answer(query: string, result: SearchResult): ToolResult {
  const { hits, update } = result;
  const sections = hits.map(
    ({ path, first_line, last_line, score, text }) =>
      `${path}:${first_line}-${last_line} (${score.toFixed(2)})\n${text}`,
  );
  const notes = notesOn(result);
  const room = answerLimit - notes.join("\n").length - 100;
  let [shown, length] = [0, 0];
  for (const section of sections) {
    length += section.length + 2;
    if (length > room) break;
    shown += 1;
  }
  if (shown < hits.length) notes.unshift(`[${hits.length - shown} further pieces are not shown; narrow the path]`);
  const found = hits.length === 0 ? ["Nothing is there to be searched: no text file has a word."] : [];
  const content = [...found, ...sections.slice(0, shown), ...notes].join("\n\n");
  const { problem, ...counts } = update;
  const data = {
    hits: hits.map(({ score, ...hit }) => ({ ...hit, score: Number(score.toFixed(4)) })),
    index: { ...counts, problem: problem?.message ?? null },
  };
  return success(`${hits.length} ${hits.length === 1 ? "piece" : "pieces"} found for "${query}".`, {
    content,
    data,
    message_zh: `找到 ${hits.length} 段与“${query}”相关的内容。`,
  });
}

/** Notes for the model on files not in the index. */
function notesOn({ update: { pending, left_out, problem }, limits: { files, pieces, bytes } }: SearchResult): string[] {
  const noun = (count: number): string => (count === 1 ? "1 file is" : `${count} files are`);
  const notes: string[] = [];
  if (problem !== undefined) {
    const advice = problem.suggestion === undefined ? "" : ` ${problem.suggestion}`;
    notes.push(`[${noun(pending)} not searched, since the model for vectors failed: ${problem.message}${advice}]`);
  } else if (pending > 0) {
    notes.push(`[${noun(pending)} not searched yet: embedding them takes longer than one call; call again to go on]`);
  }
  if (left_out > 0) {
    notes.push(
      `[${noun(left_out)} not searched: the index holds at most ${files} files, ${pieces} pieces and ${bytes} bytes; ` +
        "name a folder or file with path to have it searched first]",
    );
  }
  return notes;
}
